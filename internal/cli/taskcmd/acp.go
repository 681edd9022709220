package taskcmd

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/acpserver"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/task"
)

func newACP(s *session) *cobra.Command {
	r := &run{session: s}
	cmd := &cobra.Command{
		Use:   "acp",
		Short: "Serve tasks to an editor by the Agent Client Protocol",
		Long: `Serve tasks to an editor, which starts this command and speaks the Agent Client Protocol on its standard input and output
(docs/EDITORS.md). A prompt creates a task with the flags of this command, in the repository around the folder of the editor's
session unless --repo or --project names another one. The editor shows the events of the task, and further prompts go to its
agent. Tasks continue without the editor.`,
		Args: NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return r.serve(cmd) },
	}
	r.taskFlags(cmd)
	return cmd
}

// serve serves an editor on standard input and output.
func (r *run) serve(cmd *cobra.Command) error {
	if err := cmp.Or(r.checkFlags(cmd), r.checkNames()); err != nil {
		return err
	}
	settings, err := r.settings(cmd)
	if err != nil {
		return err
	}
	acpserver.Serve(cmd.Context(), acpserver.Config{
		API: r.api, Folder: filepath.Join(homeOf(r.Env), "acp"), Version: cmd.Root().Version, Note: r.note,
		Request: func(ctx context.Context, folder, text string) (client.CreateTaskRequest, error) {
			return r.inFolder(ctx, settings, folder, text)
		},
	}, r.Stdin, r.Stdout)
	return nil
}

// checkNames refuses names that no server knows. An editor would learn that only at the first prompt.
func (r *run) checkNames() error {
	for _, flag := range []struct {
		name, value string
		known       []string
	}{{"agent", r.agent, task.RuntimeNames()}, {"provider", r.provider, task.ProviderNames()}} {
		if flag.value != "" && !slices.Contains(flag.known, flag.value) {
			return exit.Usagef("unknown --%s %s: must be one of %s", flag.name, flag.value, strings.Join(flag.known, ", "))
		}
	}
	return nil
}

// inFolder returns the request for a text of a user who works in a folder.
func (r *run) inFolder(ctx context.Context, in client.CreateTaskRequest, folder, text string) (client.CreateTaskRequest, error) {
	in.Description = text
	if r.project == "" {
		at := *r
		at.session = &session{r.IO}
		at.Dir = folder
		var err error
		in.Repo, err = at.repository(ctx)
		return in, err
	}
	api, err := r.api()
	if err != nil {
		return in, err
	}
	p, err := projectOf(ctx, api, r.project)
	in.ProjectID = p.ID
	return in, err
}
