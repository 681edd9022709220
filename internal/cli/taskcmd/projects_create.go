package taskcmd

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

// projectFlags are what a person says of a project that is to be made.
type projectFlags struct {
	project  client.NewProject
	slots    int
	alone    bool
	feedback string
	limit    time.Duration
	settings string
}

func (s *session) projectsCreate() *cobra.Command {
	var f projectFlags
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Make a project of a repository, with its settings, before its first task",
		Long: `Make a project of a repository, with its settings, before its first task. Tasks of that repository belong to it. Without
--repo it has none, and its agents begin in an empty folder; then --name is needed.`,
		Example: `  omoi projects create --repo ~/src/app --setup "make deps" --limit 2
  omoi projects create --repo acme/app --on-feedback revise
  omoi projects create --name notes`,
		Args: NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.read(cmd); err != nil {
				return err
			}
			return s.createProject(cmd.Context(), f.project)
		},
	}
	f.add(cmd)
	return cmd
}

func (f *projectFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.project.Repo, "repo", "", "folder of a local repository, or owner/name or the address of one on GitHub")
	flags.StringVar(&f.project.Name, "name", "", "its name; default: the repository's")
	flags.StringVar(&f.project.Description, "description", "", "what it is about")
	flags.StringVar(&f.project.DefaultBranch, "default-branch", "", "`branch` from which tasks begin; default: as the repository says")
	flags.IntVar(&f.slots, "limit", 0, "how many of its tasks may be at work at a time; default: MAX_CONCURRENT_TASKS_PER_PROJECT of the server")
	flags.BoolVar(&f.alone, "autonomous", true, "whether tasks begin that omoi makes itself; those of people always do")
	flags.StringVar(&f.feedback, "on-feedback", "", feedbackUsage)
	flags.StringVar(&f.project.Setup, "setup", "", "shell `command` that runs in each sandbox before the agent")
	flags.DurationVar(&f.limit, "setup-timeout", 0, "how long it may take, as 5m; 0 for 15 minutes")
	flags.StringVar(&f.settings, "settings", "", "a JSON `object` of your own, in which some keys mean something: validate, allowed_paths, forbidden_paths, forbidden_commands, constraints")
}

// read takes over what was named, and refuses what cannot be meant.
func (f *projectFlags) read(cmd *cobra.Command) error {
	p, changed := &f.project, cmd.Flags().Changed
	if p.Repo == "" && p.Name == "" {
		return exit.Usagef("name the repository, or give the project a name: omoi projects create --repo <path>, omoi projects create --name <name>")
	}
	if changed("on-feedback") && !slices.Contains(onFeedback(), f.feedback) {
		return exit.Usagef("--on-feedback is one of %s, not %q", strings.Join(onFeedback(), ", "), f.feedback)
	}
	if changed("settings") && !json.Valid([]byte(f.settings)) {
		return exit.Usagef(`--settings is a JSON object, as '{"validate": true}'`)
	}
	seconds, err := setupTimeout(f.limit)
	if err != nil {
		return err
	}
	p.OnFeedback, p.SetupTimeoutS, p.Settings = task.OnFeedback(f.feedback), seconds, json.RawMessage(f.settings)
	if changed("limit") {
		p.MaxSlots = &f.slots
	}
	if changed("autonomous") {
		p.Autonomous = &f.alone
	}
	return nil
}

// setupTimeout is a time in whole seconds, as the server takes it.
func setupTimeout(limit time.Duration) (int, error) {
	if limit%time.Second != 0 {
		return 0, exit.Usagef("--setup-timeout takes whole seconds, not %s", limit)
	}
	return int(limit / time.Second), nil
}

func (s *session) createProject(ctx context.Context, in client.NewProject) error {
	api, err := s.api()
	if err == nil && in.Repo != "" {
		in.Repo, err = s.named(in.Repo)
	}
	if err != nil {
		return err
	}
	p, err := api.CreateProject(ctx, in)
	if err != nil {
		return err
	}
	if s.json {
		return s.printJSON(p)
	}
	s.projectTable([]client.Project{p})
	s.warnLimit(p)
	if in.Repo != "" {
		s.hint("Next: omoi run \"...\" --repo %s", scm.Quoted(render.Clean(in.Repo)))
	}
	return nil
}
