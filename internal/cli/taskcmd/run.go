package taskcmd

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/taskcontract"
)

type run struct {
	*session

	file, repo, project, title, agent, script, provider, priority, deadline string
	execution, key, contract, compare                                       string
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
		Use:   "run \"<text>\"",
		Short: "Create a task",
		Long: `Create a task for an agent in a repository. The text is an argument, a file (--file), or standard input (-). The command
returns when the task is accepted; --wait continues until it has ended.

Without --repo and --project the command uses the repository around the current folder: the one on GitHub from which it was
cloned, else the local one. --repo . means the local one in any case.

--agent claude gives the text to Claude Code (docs/CLAUDE-CODE.md); codex, gemini, opencode, qwen, copilot and openhands
give it to these agents (docs/CODING-AGENTS.md). scripted runs the steps of a JSON script and ignores
the text, command runs your own program in the sandbox, and external connects itself (docs/CUSTOM-AGENTS.md). omoi
doctor shows which agents work here. Scripts to try: ` + exampleNames() + `.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return exit.Usagef("omoi run takes one text: put it in quotes")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return r.do(cmd, args) },
	}
	r.textFlags(cmd)
	r.taskFlags(cmd)
	return cmd
}

// ProviderFlag defines --provider and its hidden alias --sandbox.
func ProviderFlag(cmd *cobra.Command, provider *string, usage string) {
	for _, name := range []string{"provider", "sandbox"} {
		cmd.Flags().StringVar(provider, name, "", usage+" (default: the server's)")
	}
	_ = cmd.Flags().MarkHidden("sandbox") // never fails: the flag exists
}

// textFlags defines the flags that concern one text.
func (r *run) textFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&r.file, "file", "f", "", "read the text from a `file`; - is standard input")
	f.StringVar(&r.title, "title", "", "title (default: the beginning of the text)")
	f.StringVar(&r.deadline, "deadline", "", "`time` by which the task should end, in RFC 3339 with a zone; a near one raises its queue score")
	f.BoolVarP(&r.wait, "wait", "w", false, "show progress until the task has ended")
	f.DurationVar(&r.timeout, "wait-timeout", 0, "stop waiting after this time, for example 10m, with exit code 130; the task continues (default: no limit)")
	f.StringVar(&r.compare, "compare", "", "give the text to several `agents`, each with a branch of its own, and compare the work: claude,codex or claude:opus,claude:sonnet; the budget is that of all together")
	f.StringVar(&r.key, "idempotency-key", "", "requests with the same key create one task (default: a new key)")
	f.BoolVar(&r.dryRun, "dry-run", false, "print the request without sending it")
}

// taskFlags defines the flags with settings of tasks.
func (r *run) taskFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&r.repo, "repo", "r", "", "`path` of a local Git repository, or owner/name of one on GitHub (default: the GitHub repository of the current folder, else its local repository)")
	f.StringVar(&r.project, "project", "", "existing `project` of the task, instead of --repo: its name, its ID, or 4 or more characters of the ID")
	f.StringVar(&r.agent, "agent", "", strings.Join(task.RuntimeNames(), ", ")+" (default: task.agent of the server, else the first one that is installed and has a credential)")
	f.StringVar(&r.script, "script", "", "JSON `file` with the steps of the scripted agent, or example:<name>; implies --agent scripted")
	f.StringVar(&r.execution, "execution-config", "", "JSON `file` with more settings, for example command, setup, test_command, continuous")
	f.StringVar(&r.contract, "contract", "", "YAML `file` with the task contract: what the task may change and run (docs/CONTRACTS.md)")
	f.BoolVar(&r.validate, "validate", false, "have another agent validate the work before it is published; --validate=false overrides the project")
	f.StringVar(&r.validator, "validator-script", "", "JSON `file` with the steps of a scripted agent that validates, or example:<name>; implies --validate")
	f.BoolVar(&r.checkDuplicates, "check-duplicates", false, "create no task, with exit code 4, if an open task of the project has a nearly equal text, or a model finds the same work")
	ProviderFlag(cmd, &r.provider, strings.Join(task.ProviderNames(), ", "))
	f.StringVar(&r.priority, "priority", "", "CRITICAL, HIGH, MEDIUM or LOW (default MEDIUM)")
	f.IntVar(&r.maxRetries, "max-retries", 3, "attempts after the first, 0 to 10")
	r.budget.add(cmd, "budget-")
}

func (r *run) do(cmd *cobra.Command, args []string) error {
	in, err := r.request(cmd, args)
	if err != nil {
		return err
	}
	all, err := r.compared()
	if err != nil {
		return err
	}
	if r.dryRun && r.project == "" {
		return r.preview(in, all)
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
		return r.preview(in, all)
	}
	if r.key == "" {
		r.key = task.NewID()
	}
	if len(all) > 0 {
		return r.compareTasks(cmd.Context(), api, client.CreateComparisonRequest{Task: in, Candidates: all})
	}
	t, made, err := api.CreateTask(cmd.Context(), in, r.key)
	if err != nil {
		return r.notCreated(err)
	}
	if r.wait {
		return r.watch(cmd.Context(), api, t)
	}
	return r.made(cmd.Context(), api, t, made)
}

// notCreated adds a next step to err: how to repeat a request whose answer was lost, or how to create a duplicate.
func (r *run) notCreated(err error) error {
	if task.CodeOf(err) == task.CodeUnavailable && !task.NotSent(err) {
		r.note("The request may have arrived. Next: repeat the command with --idempotency-key %s", r.key)
	}
	if e, ok := errors.AsType[*task.Error](err); ok && e.Kind == task.KindDuplicateWork {
		what, _, _ := strings.Cut(e.Message, " Next: ")
		changed := *e
		changed.Message = what + " Next: use that task, or leave --check-duplicates out"
		return &changed
	}
	return err
}

func (r *run) made(ctx context.Context, api *client.Client, t client.Task, made bool) error {
	if *r.JSON {
		return r.printJSON(t)
	}
	st := r.style()
	if !made {
		r.hint("This idempotency key was used before: the task exists already.")
	}
	r.say("%s  %s  %s", st.Bold(cmp.Or(t.Key, t.ID)), st.Status(t.Status), render.OneLine(t.Title, 80))
	r.say("%s", r.plan(ctx, api, t))
	r.hint("Next: omoi logs -f %s, or omoi show %s", render.Name(t.Key, t.ID), render.Name(t.Key, t.ID))
	return nil
}

func (r *run) watch(ctx context.Context, api *client.Client, t client.Task) error {
	if r.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, r.timeout, errWaited)
		defer cancel()
	}
	if !*r.JSON {
		r.say("%s  %s", r.style().Bold(cmp.Or(t.Key, t.ID)), render.OneLine(t.Title, 80))
		r.say("%s", r.plan(ctx, api, t))
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

// endOf returns when the task ended; now if it has not.
func endOf(t client.Task) time.Time {
	if t.CompletedAt != nil {
		return *t.CompletedAt
	}
	return time.Now()
}

func (r *run) preview(in client.CreateTaskRequest, compared []client.CandidateRequest) error {
	var body any = in
	route := "tasks"
	if len(compared) > 0 {
		body, route = client.CreateComparisonRequest{Task: in, Candidates: compared}, "comparisons"
	}
	if *r.JSON {
		return r.printJSON(body)
	}
	url, err := BaseURL(r.Env)
	if err != nil {
		url = "(no server configured)"
	}
	r.say("POST %s/api/v1/%s", url, route)
	if err := r.printJSON(body); err != nil {
		return err
	}
	r.say("Task contract, to which the project may add:")
	r.showInForce(contractOf(in))
	r.note("Nothing was sent.")
	return nil
}

// contractOf returns the task contract of a request, without that of the project.
func contractOf(in client.CreateTaskRequest) taskcontract.InForce {
	var given *taskcontract.Version
	if in.Contract != "" {
		c, _ := taskcontract.Parse(in.Contract) // readContract has parsed it
		given = &taskcontract.Version{Contract: c, Accepted: true}
	}
	return taskcontract.Of(given, in.Execution, nil)
}
