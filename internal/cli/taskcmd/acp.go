package taskcmd

import (
	"context"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/acpserver"
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
	if err := r.checkFlags(cmd); err != nil {
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
