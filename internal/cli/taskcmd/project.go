package taskcmd

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/feedback"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

func newProject(s *session) *cobra.Command {
	cmd := noun("project", "List, create, update, pause, resume and delete projects",
		listVerb(s, "List the projects of your organization, newest first", AllProjects, s.projectTable),
		s.projectCreate(), s.projectUpdate(), s.projectPause(), s.projectResume(), s.projectDelete())
	cmd.Aliases = []string{"projects"}
	cmd.Long = "List, create, update, pause, resume and delete projects. The first task of a repository creates its project;\nomoi project create creates one before that, with its settings."
	return cmd
}

// makesProject says where projects come from.
const makesProject = "The first task of a repository creates its project. Next: omoi run \"<text>\" --repo <path>"

func (s *session) projectTable(projects []client.Project) {
	heading := "PROJECT|NAME|MAX TASKS|PAUSED|AGENT MESSAGES|AUTO-STEERING|ON FEEDBACK|SETUP"
	list(s, projects, "No projects. "+makesProject, heading, func(p client.Project) []string {
		steering := "default"
		if p.AutoSteering != nil {
			steering = strconv.FormatBool(*p.AutoSteering)
		}
		return []string{
			render.Name(p.Key, p.ID), render.OneLine(p.Name, 60), strconv.Itoa(p.MaxSlots), strconv.FormatBool(p.Paused), strconv.FormatBool(p.AllowAgentMessages),
			steering, string(p.OnFeedback), render.OneLine(p.Setup, 40),
		}
	})
}

func (s *session) projectVerb(use, short string, do func(context.Context, *client.Client, client.Project) error) *cobra.Command {
	cmd := s.verb(use+" <project>", short, exactly(1, projectArg), about(projectOf, do))
	cmd.ValidArgsFunction = s.completeProjects()
	return cmd
}

const projectArg = "the key or name of a project, its ID, or 4 or more characters of the ID"

func projectOf(ctx context.Context, api *client.Client, ref string) (client.Project, error) {
	projects, err := AllProjects(api, ctx)
	if err != nil {
		return client.Project{}, err
	}
	return kind[client.Project]{
		noun: "project", list: "omoi project list",
		id: func(p client.Project) string { return p.ID }, name: func(p client.Project) string { return p.Name },
		key: func(p client.Project) string { return p.Key },
	}.pick(projects, ref)
}

func (s *session) projectCreate() *cobra.Command {
	var in client.CreateProjectRequest
	var f projectSettings
	var settings string
	cmd := s.verb("create", "Create a project before its first task", NoArgs,
		func(ctx context.Context, api *client.Client, _ []string) (err error) {
			if in.Repo != "" {
				if in.Repo, err = s.named(in.Repo); err != nil {
					return err
				}
			}
			p, err := api.CreateProject(ctx, in)
			return s.answer(p, err, func() {
				s.projectTable([]client.Project{p})
				s.warnLimit(p)
				if in.Repo != "" {
					s.hint("Next: omoi run \"...\" --repo %s", scm.Quoted(render.Clean(in.Repo)))
				}
			})
		})
	cmd.Long = `Create a project of a repository, with its settings. Tasks of that repository belong to it. A project without --repo has
no repository, needs --name, and its agents start in an empty folder.`
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		switch {
		case in.Repo == "" && in.Name == "":
			return exit.Usagef("missing repository or name. Next: omoi project create --repo <path>, or omoi project create --name <name>")
		case cmd.Flags().Changed("settings") && !json.Valid([]byte(settings)):
			return exit.Usagef(`invalid --settings: expected a JSON object, for example '{"validate": true}'`)
		}
		in.Settings, in.Setup, in.OnFeedback = json.RawMessage(settings), f.setup, feedback.Mode(f.feedback)
		in.MaxSlots, in.Autonomous = changed(cmd, "max-concurrent-tasks", &f.slots), changed(cmd, "autonomous-execution", &f.alone)
		in.SetupTimeoutS = int(wholeSeconds(f.limit))
		return nil
	}
	flags := cmd.Flags()
	flags.StringVar(&in.Repo, "repo", "", "`path` of a local repository, or owner/name or URL of one on GitHub")
	flags.StringVar(&in.Key, "key", "", "key, 2 to 10 letters and digits (default: from the name)")
	flags.StringVar(&in.Name, "name", "", "name of the project (default: the name of the repository)")
	flags.StringVar(&in.Description, "description", "", "description of the project")
	flags.StringVar(&in.DefaultBranch, "default-branch", "", "`branch` from which tasks start (default: that of the repository)")
	flags.StringVar(&settings, "settings", "", "JSON `object` of free settings; omoi reads validate, commit_leftovers, repeat_tests, allowed_paths, forbidden_paths, forbidden_commands and constraints")
	f.add(cmd)
	return cmd
}

func (s *session) projectUpdate() *cobra.Command {
	var change client.UpdateProjectRequest
	var f projectSettings
	var messages bool
	cmd := s.projectVerb("update", "Update settings of a project; the other settings stay", func(ctx context.Context, api *client.Client, p client.Project) error {
		p, err := api.PatchProject(ctx, p.ID, change)
		return s.answer(p, err, func() {
			s.projectTable([]client.Project{p})
			if change.MaxSlots != nil {
				s.warnLimit(p)
			}
		})
	})
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		var err error
		seconds := int(wholeSeconds(f.limit))
		if change.AutoSteering, err = choice(cmd, "auto-steering"); err != nil {
			return err
		}
		change.AllowAgentMessages, change.Autonomous = changed(cmd, "allow-agent-messages", &messages), changed(cmd, "autonomous-execution", &f.alone)
		change.MaxSlots, change.OnFeedback = changed(cmd, "max-concurrent-tasks", &f.slots), changed(cmd, "on-feedback", (*feedback.Mode)(&f.feedback))
		change.Setup, change.SetupTimeoutS = changed(cmd, "setup", &f.setup), changed(cmd, "setup-timeout", &seconds)
		if said, err := json.Marshal(change); err != nil || string(said) == "{}" {
			return exit.Usagef("nothing to update: give a setting. Next: omoi project update --help")
		}
		return nil
	}
	cmd.Flags().BoolVar(&messages, "allow-agent-messages", false, "let the agents of the project send messages to each other")
	cmd.Flags().String("auto-steering", "", "let the guardian message, interrupt and replace agents: `true, false or default` (the setting monitoring.auto_steering)")
	f.add(cmd)
	return cmd
}

// choice reads a flag whose value is true, false or default.
func choice(cmd *cobra.Command, name string) (client.OptionalBool, error) {
	said := cmd.Flags().Lookup(name).Value.String()
	switch {
	case !cmd.Flags().Changed(name):
		return client.OptionalBool{}, nil
	case said == "default":
		return client.OptionalBool{Named: true}, nil
	}
	to, err := strconv.ParseBool(said)
	if err != nil {
		return client.OptionalBool{}, exit.Usagef("invalid --%s %q: must be true, false or default", name, said)
	}
	return client.Choose(to), nil
}

// warnLimit prints a warning if the concurrency limit of a project is 0.
func (s *session) warnLimit(p client.Project) {
	if p.MaxSlots == 0 {
		s.note("Warning: with a limit of 0 no task of %s starts. Next: omoi project update %s --max-concurrent-tasks <n>", render.OneLine(p.Name, 60), render.Name(p.Key, p.ID))
	}
}

// projectSettings are the flags that project create and project update share.
type projectSettings struct {
	slots           int
	alone           bool
	feedback, setup string
	limit           time.Duration
}

func (p *projectSettings) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&p.slots, "max-concurrent-tasks", 0, "concurrency limit of the project (new projects: MAX_CONCURRENT_TASKS_PER_PROJECT of the server)")
	flags.BoolVar(&p.alone, "autonomous-execution", false, "start tasks that omoi created itself; tasks of users always start (new projects: true)")
	flags.StringVar(&p.feedback, "on-feedback", "", "reaction to reviews and failed checks on GitHub: off, message (to the running agent) or revise (also with a new task); see docs/GITHUB.md")
	flags.StringVar(&p.setup, "setup", "", "shell `command` that runs in each sandbox before the agent; empty: none")
	flags.DurationVar(&p.limit, "setup-timeout", 0, "timeout of the setup command, for example 5m; 0: 15 minutes")
}

func (s *session) projectPause() *cobra.Command {
	halt := client.PauseRequest{}
	cmd := s.halt("pause", "Pause a project: no queued task starts", &halt, (*client.Client).PauseProject)
	cmd.Flags().BoolVar(&halt.Now, "now", false, "also suspend running tasks, with their work saved")
	return cmd
}

func (s *session) projectResume() *cobra.Command {
	return s.halt("resume", "Resume a paused project, with the tasks that the pause suspended", &client.PauseRequest{}, (*client.Client).ResumeProject)
}

type halter func(*client.Client, context.Context, string, client.PauseRequest) (client.PauseResult, error)

func (s *session) halt(use, short string, halt *client.PauseRequest, do halter) *cobra.Command {
	cmd := s.projectVerb(use, short, func(ctx context.Context, api *client.Client, p client.Project) error {
		done, err := do(api, ctx, p.ID, *halt)
		return s.answer(done, err, func() { s.showPause(done, halt.Now) })
	})
	reasonFlag(cmd, &halt.Reason)
	return cmd
}

// reasonFlag defines --reason.
func reasonFlag(cmd *cobra.Command, reason *string) {
	cmd.Flags().StringVar(reason, "reason", "asked for on the command line", "reason shown with the task")
}

// showPause prints the effect of a pause and the next step.
func (s *session) showPause(done client.PauseResult, now bool) {
	name, tasks := render.OneLine(done.Project.Name, 60), task.Count(len(done.TaskIDs), "task")
	switch {
	case !done.Project.Paused && done.InstallationPaused:
		s.say("Resumed project %s, but no task starts: the server runs with ORCHESTRATOR_ENABLED=false, which pauses all projects.", name)
		s.hint("Next: remove that setting (omoi config show names its origin), and restart the server")
	case !done.Project.Paused:
		s.say("Resumed project %s: %s released that the pause had suspended; queued tasks start when slots free up.", name, tasks)
	case len(done.TaskIDs) > 0:
		s.say("Paused project %s. Suspending %s; their work is saved.", name, tasks)
	case now:
		s.say("Paused project %s: no task starts, and no running task was left to suspend.", name)
	default:
		s.say("Paused project %s: no task starts. Running tasks continue.", name)
	}
	for _, id := range done.TaskIDs {
		s.say("  %s", render.Short(id))
	}
	if done.Project.Paused {
		s.hint("Next: omoi project resume %s", render.Name(done.Project.Key, done.Project.ID))
	}
}

func (s *session) projectDelete() *cobra.Command {
	yes := false
	cmd := s.projectVerb("delete", "Delete a project and its credentials", func(ctx context.Context, api *client.Client, p client.Project) error {
		preview, err := api.ProjectDeletion(ctx, p.ID)
		if err == nil && yes {
			err = api.DeleteProject(ctx, p.ID)
		}
		if err == nil {
			err = s.answer(preview, nil, func() { s.showDeletion(preview, yes) })
		}
		if err != nil || yes {
			return err
		}
		next := "repeat the command with --yes"
		if len(preview.OpenTasks) > 0 {
			next = "omoi cancel the open tasks, then repeat the command with --yes"
		}
		return exit.With(exit.NeedsYou, fmt.Errorf("project %s would be deleted. Next: %s", render.OneLine(p.Name, 60), next))
	})
	cmd.Long = `Delete a project and its credentials. Without --yes the command prints what would be deleted, and deletes nothing.
The project's tasks, receipts, costs, branches and saved work stay. A deleted project is not listed and accepts no
task or retry. The next task of its repository makes a new project. Cancel the project's open tasks first.`
	cmd.Flags().BoolVar(&yes, "yes", false, "delete the project")
	return cmd
}

func (s *session) showDeletion(d client.ProjectDeletion, done bool) {
	title := "Would delete"
	if done {
		title = "Deleted"
	}
	s.say("%s:  project %s  %s", title, render.Name(d.Project.Key, d.Project.ID), render.OneLine(d.Project.Name, 60))
	s.say("Credentials deleted:  %s", cmp.Or(strings.Join(d.Credentials, ", "), "none"))
	s.say("Kept:  %s and %s, with events, receipts, costs, branches and saved work", task.Count(d.Tasks, "task"), task.Count(d.Tickets, "ticket"))
	for _, t := range d.OpenTasks {
		s.say("Open:  %s  %s  %s", render.Name(t.Key, t.ID), s.style().Status(t.Status), render.OneLine(t.Title, 60))
	}
}
