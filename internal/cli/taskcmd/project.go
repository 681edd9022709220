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
)

func newProject(s *session) *cobra.Command {
	cmd := noun("project", "List, create, update, pause, resume and delete projects",
		listVerb(s, "List the projects of your organization, newest first", AllProjects, s.projectTable),
		s.projectCreate(), s.projectUpdate(), s.projectPause(), s.projectResume(), s.projectDelete())
	cmd.Aliases = []string{"projects"}
	cmd.Long = "List, create, update, pause, resume and delete projects. " + makesProject + "\nomoi project create makes one with its settings before that."
	return cmd
}

// makesProject says where projects come from.
const makesProject = "The first task of a repository makes its project: omoi run \"...\" --repo <path>."

func (s *session) projectTable(projects []client.Project) {
	heading := "PROJECT|NAME|MAX TASKS|PAUSED|AGENT MESSAGES|AUTO-STEERING|ON FEEDBACK|SETUP"
	list(s, projects, "No projects. "+makesProject, heading, func(p client.Project) []string {
		steering := "default"
		if p.AutoSteering != nil {
			steering = strconv.FormatBool(*p.AutoSteering)
		}
		return []string{
			render.Short(p.ID), render.OneLine(p.Name, 60), strconv.Itoa(p.MaxSlots), strconv.FormatBool(p.Paused), strconv.FormatBool(p.AllowAgentMessages),
			steering, string(p.OnFeedback), render.OneLine(p.Setup, 40),
		}
	})
}

func (s *session) projectVerb(use, short string, do func(context.Context, *client.Client, client.Project) error) *cobra.Command {
	return s.verb(use+" <project>", short, exactly(1, projectArg), about(projectOf, do))
}

const projectArg = "the name of a project, its id, or 4 or more characters of the id's beginning or end"

func projectOf(ctx context.Context, api *client.Client, ref string) (client.Project, error) {
	projects, err := AllProjects(api, ctx)
	if err != nil {
		return client.Project{}, err
	}
	return kind[client.Project]{
		noun: "project", list: "omoi project list",
		id: func(p client.Project) string { return p.ID }, name: func(p client.Project) string { return p.Name },
	}.pick(projects, ref)
}

func (s *session) projectCreate() *cobra.Command {
	var in client.CreateProjectRequest
	var f projectSettings
	var settings string
	cmd := s.verb("create", "Create a project of a repository before its first task", NoArgs,
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
	cmd.Long = `Create a project of a repository, with its settings, before its first task. Tasks of that repository belong to it. Without
--repo it has none, and its agents begin in an empty folder; then --name is needed.`
	cmd.Example = `  omoi project create --repo ~/src/app --setup "make deps" --max-concurrent-tasks 2
  omoi project create --repo acme/app --on-feedback revise
  omoi project create --name notes`
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		switch {
		case in.Repo == "" && in.Name == "":
			return exit.Usagef("name the repository, or give the project a name: omoi project create --repo <path>, omoi project create --name <name>")
		case cmd.Flags().Changed("settings") && !json.Valid([]byte(settings)):
			return exit.Usagef(`--settings is a JSON object, as '{"validate": true}'`)
		}
		in.Settings, in.Setup, in.OnFeedback = json.RawMessage(settings), f.setup, feedback.Mode(f.feedback)
		in.MaxSlots, in.Autonomous = changed(cmd, "max-concurrent-tasks", &f.slots), changed(cmd, "autonomous-execution", &f.alone)
		in.SetupTimeoutS = int(wholeSeconds(f.limit))
		return nil
	}
	flags := cmd.Flags()
	flags.StringVar(&in.Repo, "repo", "", "folder of a local repository, or owner/name or the address of one on GitHub")
	flags.StringVar(&in.Name, "name", "", "its name; default: the repository's")
	flags.StringVar(&in.Description, "description", "", "what it is about")
	flags.StringVar(&in.DefaultBranch, "default-branch", "", "`branch` from which tasks begin; default: as the repository says")
	flags.StringVar(&settings, "settings", "", "a JSON `object` of your own, in which some keys mean something: validate, allowed_paths, forbidden_paths, forbidden_commands, constraints")
	f.add(cmd)
	return cmd
}

func (s *session) projectUpdate() *cobra.Command {
	var change client.UpdateProjectRequest
	var f projectSettings
	var messages bool
	cmd := s.projectVerb("update", "Update settings of a project; what is not named stays", func(ctx context.Context, api *client.Client, p client.Project) error {
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
			return exit.Usagef("nothing to change: name a setting, as --allow-agent-messages=true")
		}
		return nil
	}
	cmd.Flags().BoolVar(&messages, "allow-agent-messages", false, "whether the agents of the project may write to each other")
	cmd.Flags().String("auto-steering", "", "whether the guardian may message, interrupt and replace its agents; a `choice` of true, false, and default for what monitoring.auto_steering says")
	f.add(cmd)
	return cmd
}

// choice reads a flag whose value is true, false, or default.
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
		return client.OptionalBool{}, exit.Usagef("--%s is true, false or default, not %q", name, said)
	}
	return client.Choose(to), nil
}

// warnLimit warns of a project that admits no task.
func (s *session) warnLimit(p client.Project) {
	if p.MaxSlots == 0 {
		s.hint("Warning: with a limit of 0 no task of %s starts. Next: omoi project update %s --max-concurrent-tasks <n>", render.OneLine(p.Name, 60), render.Short(p.ID))
	}
}

// projectSettings are the flags that create and update share.
type projectSettings struct {
	slots           int
	alone           bool
	feedback, setup string
	limit           time.Duration
}

func (p *projectSettings) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&p.slots, "max-concurrent-tasks", 0, "how many of its tasks may run at a time; a new project: MAX_CONCURRENT_TASKS_PER_PROJECT of the server")
	flags.BoolVar(&p.alone, "autonomous-execution", false, "whether tasks start that omoi itself created; those of users always do; a new project: true")
	flags.StringVar(&p.feedback, "on-feedback", "", "what reviews and failed checks on GitHub do: off, message (tell the running agent) or revise (and start a task where none is); needs a webhook, see docs/GITHUB.md")
	flags.StringVar(&p.setup, "setup", "", "shell `command` that runs in each sandbox before the agent; empty for none")
	flags.DurationVar(&p.limit, "setup-timeout", 0, "how long it may take, as 5m; 0 for 15 minutes")
}

func (s *session) projectPause() *cobra.Command {
	halt := client.PauseRequest{}
	cmd := s.halt("pause", "Pause a project: no task starts; with --now, suspend running ones", &halt, (*client.Client).PauseProject)
	cmd.Flags().BoolVar(&halt.Now, "now", false, "suspend running tasks too; their work is saved")
	return cmd
}

func (s *session) projectResume() *cobra.Command {
	return s.halt("resume", "Resume a paused project, with the tasks that the pause suspended", &client.PauseRequest{}, (*client.Client).ResumeProject)
}

type halter func(*client.Client, context.Context, string, client.PauseRequest) (client.PauseResult, error)

func (s *session) halt(use, short string, halt *client.PauseRequest, do halter) *cobra.Command {
	cmd := s.projectVerb(use, short, func(ctx context.Context, api *client.Client, p client.Project) error {
		done, err := do(api, ctx, p.ID, *halt)
		return s.answer(done, err, func() { s.halted(done, halt.Now) })
	})
	reasonFlag(cmd, &halt.Reason)
	return cmd
}

// reasonFlag is --reason of commands that change what tasks do.
func reasonFlag(cmd *cobra.Command, reason *string) {
	cmd.Flags().StringVar(reason, "reason", "asked for on the command line", "reason that the task shows")
}

// halted says what happens now, and what to do next.
func (s *session) halted(done client.PauseResult, now bool) {
	name, tasks := render.OneLine(done.Project.Name, 60), render.Count(len(done.TaskIDs), "task")
	switch {
	case !done.Project.Paused && done.InstallationPaused:
		s.say("%s is no longer paused, and none of its tasks starts: omoi runs with ORCHESTRATOR_ENABLED=false, which holds every task.", name)
		s.hint("Start omoi without that. Where it is set: omoi config show | grep orchestrator")
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
		s.hint("Next: omoi project resume %s", render.Short(done.Project.ID))
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
	s.say("%s:  project %s  %s", title, render.Short(d.Project.ID), render.OneLine(d.Project.Name, 60))
	s.say("Credentials deleted:  %s", cmp.Or(strings.Join(d.Credentials, ", "), "none"))
	s.say("Kept:  %s and %s, with events, receipts, costs, branches and saved work", render.Count(d.Tasks, "task"), render.Count(d.Tickets, "ticket"))
	for _, t := range d.OpenTasks {
		s.say("Open:  %s  %s  %s", render.Short(t.ID), s.style().Status(t.Status), render.OneLine(t.Title, 60))
	}
}
