package taskcmd

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/mcpserver"
)

func newMCP(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "mcp",
		Short: "Serve tasks to a program by the Model Context Protocol",
		Long: `Serve tasks to a program, for example Claude Code, which starts this command and speaks the Model Context Protocol on its
standard input and output (docs/MCP.md). A task that names no repository works in the one around the current folder. Tasks
continue without the program.`,
		Args: NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.serveMCP(cmd) },
	}
}

func (s *session) serveMCP(cmd *cobra.Command) error {
	server := mcpserver.New(mcpserver.Config{
		API:     func(http.Header) (*client.Client, error) { return s.api() },
		Repo:    func(ctx context.Context) (string, error) { return (&run{session: s}).repository(ctx) },
		Version: cmd.Root().Version,
	})
	err := server.Run(cmd.Context(), &mcp.IOTransport{Reader: io.NopCloser(s.Stdin), Writer: openOut{s.Stdout}})
	if ended := cmd.Context().Err() != nil || errors.Is(err, io.EOF); !ended {
		return err
	}
	return nil
}

// openOut is the standard output, which stays open.
type openOut struct{ io.Writer }

// Close does nothing.
func (openOut) Close() error { return nil }
