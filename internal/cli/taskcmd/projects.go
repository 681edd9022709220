package taskcmd

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/task"
)

func newProjects(s *session) *cobra.Command {
	list := s.projectsList()
	cmd := &cobra.Command{Use: "projects", Aliases: []string{"project"}, Short: "List, create, change and delete projects", Args: NoArgs, RunE: list.RunE}
	cmd.Long = "List, create, change and delete projects. " + makesProject + "\nomoi projects create makes one with its settings before that."
	cmd.AddCommand(list, s.projectsCreate(), s.projectsSet(), s.projectsPause(), s.projectsResume(), s.projectsDelete())
	return cmd
}

// makesProject says where projects come from.
const makesProject = "The first task of a repository makes its project: omoi run \"...\" --repo <path>."

func (s *session) projectsList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the projects of your organization, newest first",
		Args:  NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			api, err := s.api()
			if err != nil {
				return err
			}
			projects, err := allProjects(cmd.Context(), api)
			if err != nil {
				return err
			}
			if s.json {
				return s.printJSON(projects)
			}
			s.projectTable(projects)
			return nil
		},
	}
}

func allProjects(ctx context.Context, api *client.Client) ([]client.Project, error) {
	all, cursor := []client.Project{}, ""
	for {
		page, err := api.Projects(ctx, cursor)
		if err != nil {
			return nil, err
		}
		all, cursor = append(all, page.Items...), page.NextCursor
		if cursor == "" {
			return all, nil
		}
	}
}

func (s *session) projectTable(projects []client.Project) {
	if len(projects) == 0 {
		s.hint("No projects. %s", makesProject)
		return
	}
	rows := [][]string{{"PROJECT", "NAME", "AT A TIME", "PAUSED", "AGENTS MAY MESSAGE", "GUARDIAN ACTS", "ON FEEDBACK", "SETUP"}}
	for _, p := range projects {
		rows = append(rows, []string{
			render.Short(p.ID), render.OneLine(p.Name, 60), strconv.Itoa(p.MaxSlots), strconv.FormatBool(p.Paused), strconv.FormatBool(p.AgentsMessage), steering(p), string(p.OnFeedback), render.OneLine(p.Setup, 40),
		})
	}
	_, _ = fmt.Fprint(s.Stdout, s.style().Table(rows))
}

// steering is whether the guardian may act in a project.
func steering(p client.Project) string {
	if p.AutoSteering == nil {
		return "default"
	}
	return strconv.FormatBool(*p.AutoSteering)
}

func (s *session) projectsSet() *cobra.Command {
	var messages, paused bool
	var setup, feedback string
	var slots int
	var alone bool
	var limit time.Duration
	cmd := &cobra.Command{
		Use:   "set <project>",
		Short: "Change settings of a project; what is not named stays",
		Args:  exactly(1, "the name of a project, its id, or 4 or more characters of the id's beginning or end"),
		RunE: func(cmd *cobra.Command, args []string) error {
			steering, err := choice(cmd.Flags(), "auto-steering")
			if err != nil {
				return err
			}
			change := client.ProjectPatch{AutoSteering: steering}
			if cmd.Flags().Changed("agents-may-message") {
				change.AgentsMayMessage = &messages
			}
			if cmd.Flags().Changed("autonomous") {
				change.Autonomous = &alone
			}
			if cmd.Flags().Changed("limit") {
				change.MaxSlots = &slots
			}
			if cmd.Flags().Changed("paused") {
				change.Paused = &paused
			}
			if cmd.Flags().Changed("on-feedback") {
				if !slices.Contains(onFeedback(), feedback) {
					return exit.Usagef("--on-feedback is one of %s, not %q", strings.Join(onFeedback(), ", "), feedback)
				}
				change.OnFeedback = (*task.OnFeedback)(&feedback)
			}
			if cmd.Flags().Changed("setup") {
				change.Setup = &setup
			}
			if cmd.Flags().Changed("setup-timeout") {
				seconds, err := setupTimeout(limit)
				if err != nil {
					return err
				}
				change.SetupTimeoutS = &seconds
			}
			if change.AgentsMayMessage == nil && change.Autonomous == nil && !change.AutoSteering.Named && change.MaxSlots == nil && change.OnFeedback == nil && change.Paused == nil && change.Setup == nil && change.SetupTimeoutS == nil {
				return exit.Usagef("nothing to change: name a setting, as --agents-may-message=true")
			}
			return s.changeProject(cmd.Context(), args[0], change)
		},
	}
	cmd.Flags().BoolVar(&messages, "agents-may-message", false, "whether the agents of the project may write to each other")
	cmd.Flags().String("auto-steering", "", "whether the guardian may speak to its agents, interrupt and replace them; a `choice` of true, false, and default for what monitoring.auto_steering says")
	cmd.Flags().BoolVar(&alone, "autonomous", false, "whether tasks begin that omoi makes itself; those of people always do")
	cmd.Flags().IntVar(&slots, "limit", 0, "how many of its tasks may be at work at a time")
	cmd.Flags().BoolVar(&paused, "paused", false, "whether new tasks of the project wait")
	cmd.Flags().StringVar(&feedback, "on-feedback", "", feedbackUsage)
	cmd.Flags().StringVar(&setup, "setup", "", "shell `command` that runs in each sandbox before the agent; empty for none")
	cmd.Flags().DurationVar(&limit, "setup-timeout", 0, "how long it may take, as 5m; 0 for 15 minutes")
	return cmd
}

// choice reads a flag that is yes, no, or the word for what holds where nobody has chosen.
func choice(flags *pflag.FlagSet, name string) (task.Choice, error) {
	said := flags.Lookup(name).Value.String()
	switch {
	case !flags.Changed(name):
		return task.Choice{}, nil
	case said == "default":
		return task.Choice{Named: true}, nil
	}
	to, err := strconv.ParseBool(said)
	if err != nil {
		return task.Choice{}, exit.Usagef("--%s is true, false or default, not %q", name, said)
	}
	return task.Choose(to), nil
}

const feedbackUsage = "what reviews and failed checks on GitHub do: off, message (tell the agent at work) or revise (and start a task where none is); needs a webhook, see docs/GITHUB.md"

func onFeedback() []string {
	return []string{string(task.OnFeedbackOff), string(task.OnFeedbackMessage), string(task.OnFeedbackRevise)}
}

func (s *session) changeProject(ctx context.Context, ref string, change client.ProjectPatch) error {
	api, err := s.api()
	if err != nil {
		return err
	}
	projects, err := allProjects(ctx, api)
	if err != nil {
		return err
	}
	p, err := findProject(projects, ref)
	if err != nil {
		return err
	}
	if p, err = api.PatchProject(ctx, p.ID, change); err != nil {
		return err
	}
	if s.json {
		return s.printJSON(p)
	}
	s.projectTable([]client.Project{p})
	if change.MaxSlots != nil {
		s.warnLimit(p)
	}
	return nil
}

// warnLimit warns of a project that admits no task.
func (s *session) warnLimit(p client.Project) {
	if p.MaxSlots == 0 {
		s.hint("Warning: with a limit of 0 no task of %s starts. Next: omoi projects set %s --limit <n>", render.OneLine(p.Name, 60), render.Short(p.ID))
	}
}

// findProject resolves what a person typed for a project: its name, or a part of its id.
func findProject(projects []client.Project, ref string) (client.Project, error) {
	var found []client.Project
	for _, p := range projects {
		if p.Name == ref {
			return p, nil
		}
		if len(ref) >= minFragment && partOf(p.ID, ref) {
			found = append(found, p)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return client.Project{}, task.Errorf(task.CodeNotFound, "No project is called %q, and no id begins or ends so. %s Next: omoi projects list", ref, makesProject)
	}
	return client.Project{}, exit.Usagef("%q fits more than one project; give more of the id. Next: omoi projects list", ref)
}
