package taskcmd

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/task"
)

type run struct {
	*session

	file, repo, project, title, agent, script, provider, priority, deadline string
	execution, key                                                          string
	maxRetries                                                              int
	wait, dryRun, validate                                                  bool
	checkDuplicates                                                         bool
	validator                                                               string
	timeout                                                                 time.Duration
	budget                                                                  budgetFlags
}

func newRun(s *session) *cobra.Command {
	r := &run{session: s}
	cmd := &cobra.Command{
		Use:   "run \"<text>\" --repo <path>",
		Short: "Create a task",
		Long: `Give an agent a task in a repository: the text as an argument, from a file, or from standard input with -.
The command returns as soon as the task is accepted; --wait stays until it has ended.

--agent claude gives the text to Claude Code (docs/CLAUDE-CODE.md). scripted follows the steps of a JSON script
and ignores the text, command runs a program of yours in the sandbox, external is one that connects itself
(docs/AGENTS-AND-SCRIPTS.md); omoi doctor says which agents work here. Scripts to try: ` + exampleNames() + `.`,
		Example: `  omoi run "Say hello" --repo . --script example:hello --wait
  omoi run "Format it" --repo ~/src/app --agent command --execution-config command.json
  git diff | omoi run - --title "Review this" --repo . --agent external`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return exit.Usagef("omoi run takes one text; put it in quotes")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return r.do(cmd, args) },
	}
	r.taskFlags(cmd)
	return cmd
}

// ProviderFlag adds --provider, and its alias --sandbox.
func ProviderFlag(cmd *cobra.Command, provider *string, usage string) {
	for _, name := range []string{"provider", "sandbox"} {
		cmd.Flags().StringVar(provider, name, "", usage+" (default: the server's)")
	}
	_ = cmd.Flags().MarkHidden("sandbox") // it is there
}

func (r *run) taskFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&r.file, "file", "f", "", "read the text from a `file`; - is standard input")
	f.StringVarP(&r.repo, "repo", "r", "", "`path` of a local git repository, or owner/name of one on GitHub (default the one around the current folder)")
	f.StringVar(&r.project, "project", "", "existing project of the task, instead of --repo: "+projectArg)
	f.StringVar(&r.title, "title", "", "title (default the beginning of the text)")
	f.StringVar(&r.agent, "agent", "", strings.Join(task.RuntimeNames(), ", ")+" (default: task.agent of the server, else the first runtime that is installed and has a credential)")
	f.StringVar(&r.script, "script", "", "JSON `file` with the steps of the scripted agent, or example:<name>; implies --agent scripted")
	f.StringVar(&r.execution, "execution-config", "", "JSON `file` with further settings: command, setup, test_command, continuous, ...")
	f.BoolVar(&r.validate, "validate", false, "have another agent validate the work before it is published; --validate=false: do not, whatever the project says")
	f.StringVar(&r.validator, "validator-script", "", "JSON `file` with the steps of a scripted agent that validates, or example:<name>; implies --validate")
	f.BoolVar(&r.checkDuplicates, "check-duplicates", false, "make no task where one about the same work is open in the project; exit code 4 then")
	ProviderFlag(cmd, &r.provider, strings.Join(task.ProviderNames(), ", "))
	f.StringVar(&r.priority, "priority", "", "CRITICAL, HIGH, MEDIUM or LOW (default MEDIUM)")
	f.IntVar(&r.maxRetries, "max-retries", 3, "attempts after the first, 0 to 10")
	f.StringVar(&r.deadline, "deadline", "", "`time` by which the task is wanted, in RFC 3339 with its zone; it raises the score in the queue")
	r.budget.add(cmd, "budget-")
	f.BoolVarP(&r.wait, "wait", "w", false, "show progress and stay until the task has ended")
	f.DurationVar(&r.timeout, "wait-timeout", 0, "with --wait: stop waiting after this time, as 90s or 10m, with exit code 130; the task continues (default: never)")
	f.StringVar(&r.key, "idempotency-key", "", "the same key and task make one task, however often it is sent (default: a new one)")
	f.BoolVar(&r.dryRun, "dry-run", false, "print what would be sent, and send nothing")
}

func (r *run) do(cmd *cobra.Command, args []string) error {
	in, err := r.request(cmd, args)
	if err != nil {
		return err
	}
	if r.dryRun && r.project == "" {
		return r.preview(in)
	}
	api, err := r.api()
	if err == nil && r.project != "" {
		var p client.Project
		p, err = projectOf(cmd.Context(), api, r.project)
		in.ProjectID = p.ID
	}
	if err != nil {
		return err
	}
	if r.dryRun {
		return r.preview(in)
	}
	if r.key == "" {
		r.key = task.NewID()
	}
	t, made, err := api.CreateTask(cmd.Context(), in, r.key)
	if err != nil {
		return r.notMade(err)
	}
	if r.repo != in.Repo {
		r.hint("Repository: %s", in.Repo)
	}
	if r.wait {
		return r.watch(cmd.Context(), api, t)
	}
	return r.made(t, made)
}

// notMade says how to ask again without making two tasks, where the answer may have been lost, and asks the user to decide
// about a duplicate.
func (r *run) notMade(err error) error {
	if task.CodeOf(err) == task.CodeUnavailable && !client.NotSent(err) {
		r.hint("If it may have arrived all the same, repeat the command with --idempotency-key %s", r.key)
	}
	if e, ok := errors.AsType[*task.Error](err); ok && e.Field == "force_create" {
		said := strings.ReplaceAll(e.Message, "Send force_create to make it all the same", "To create it all the same, leave --check-duplicates out")
		return exit.With(exit.NeedsYou, task.Errorf(e.Code, "%s", said))
	}
	return err
}

func (r *run) made(t client.Task, made bool) error {
	if *r.JSON {
		return r.printJSON(t)
	}
	st := r.style()
	if !made {
		r.hint("This key was used before; it is the same task.")
	}
	r.say("%s  %s  %s", st.Bold(t.ID), st.Status(t.Status), render.OneLine(t.Title, 80))
	r.hint("Next: omoi logs -f %s, or omoi show %s", render.Short(t.ID), render.Short(t.ID))
	return nil
}

func (r *run) watch(ctx context.Context, api *client.Client, t client.Task) error {
	if r.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, r.timeout, errWaited)
		defer cancel()
	}
	if !*r.JSON {
		r.say("%s  %s", r.style().Bold(t.ID), render.OneLine(t.Title, 80))
	}
	f := &follower{session: r.session, api: api, id: t.ID, quiet: *r.JSON, lines: r.lines(t, true)}
	if err := f.follow(ctx); err != nil {
		return f.stopped(ctx, err)
	}
	t, err := api.Task(ctx, t.ID)
	if err != nil {
		return err
	}
	if *r.JSON {
		return errors.Join(r.printJSON(t), outcome(t))
	}
	r.say("%s", f.lines.Line(endOf(t), r.style().Status(t.Status), shortWhy(t)))
	r.next(r.hint, nextCommands(t, false))
	return outcome(t)
}

// endOf is when the task ended, or now.
func endOf(t client.Task) time.Time {
	if t.CompletedAt != nil {
		return *t.CompletedAt
	}
	return time.Now()
}

func (r *run) preview(in client.CreateTaskRequest) error {
	if *r.JSON {
		return r.printJSON(in)
	}
	url, err := BaseURL(r.Env)
	if err != nil {
		url = "(no server is known)"
	}
	r.say("POST %s/api/v1/tasks", url)
	if err := r.printJSON(in); err != nil {
		return err
	}
	r.hint("Nothing was sent.")
	return nil
}
