package cli

import (
	"context"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/app"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/cli/taskcmd"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// globals are what every command sees: the flags of the root and the process around it.
type globals struct {
	json   bool     // --json
	set    []string // --set, and the flags of single settings
	env    []string // as os.Environ gives it
	dir    string   // working directory
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
}

// Run runs one command line and returns its exit code. When ctx ends, commands stop cleanly.
func Run(ctx context.Context, args, env []string, stdin io.Reader, stdout, stderr io.Writer) int { //nolint:revive // the process, as it is
	dir, err := os.Getwd()
	if err != nil {
		dir = "" // a removed folder: nothing is read from it
	}
	g := &globals{env: env, dir: dir, stdin: stdin, stdout: stdout, stderr: stderr}
	root := newRoot(g)
	root.SetArgs(append([]string{}, args...)) // never nil, which would mean the arguments of the process
	cmd, err := root.ExecuteContextC(ctx)
	err = exit.InFlags(err, func(flag string) bool { return cmd.Flags().Lookup(flag) != nil })
	return exit.Report(stderr, err, g.json || wantsJSON(args))
}

// wantsJSON answers for command lines that fail before their flags are known.
func wantsJSON(args []string) bool {
	for _, arg := range args {
		if arg == "--" {
			return false
		}
		if arg == "--json" || arg == "--json=true" {
			return true
		}
	}
	return false
}

// Root returns the tree of all commands, for tools that read the texts of it.
func Root() *cobra.Command {
	return newRoot(&globals{stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard})
}

func newRoot(g *globals) *cobra.Command {
	root := &cobra.Command{
		Use:   "omoi",
		Short: "Run AI coding agents durably",
		Long: `omoi runs AI coding agents as durable Temporal workflows. Each task gets a branch, a sandbox and an agent, survives
crashes of any component, and ends with a pull request and a verified sandbox deletion.

omoi dev starts everything on this machine. omoi without a command shows the server, the tasks by status, what needs you,
and the next command.

Agents: ` + strings.Join(task.RuntimeNames(), ", ") + ` (omoi run --help describes them).

Commands accept a key (APP-12), an ID, or 4 or more characters of its beginning or end. - is the newest task. --json
prints the objects of the API.

Exit codes:
  0    success                1    the task or the request failed
  2    invalid command line   3    no server answers
  4    you must act first: log in, set a credential, repeat with --yes, resume a suspended task
  5    the budget is used up
  130  interrupted by Ctrl-C or at the end of --wait-timeout; the task continues`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(g.stdin)
	root.SetOut(g.stdout)
	root.SetErr(g.stderr)
	f := root.PersistentFlags()
	f.BoolVar(&g.json, "json", false, "print JSON")
	f.Func("api-url", "`URL` of the server (default $OMOI_API_URL, else the running omoi dev)", func(url string) error {
		return g.setting("api.url")(taskcmd.WithScheme(url))
	})
	f.Func("home", "data `DIR` of this installation (default $OMOI_HOME, else ~/.omoi)", g.setting("home"))
	set := func(pair string) error {
		g.set = append(g.set, pair)
		return nil
	}
	f.Func("set", "set a setting for this command, as `key=value` (docs/CONFIGURATION.md lists the keys)", set)
	root.Version = app.ReadBuild().String()
	root.SetVersionTemplate("omoi {{.Version}}\n")
	root.SetHelpCommand(newHelp())
	root.AddCommand(newDev(g), newAPI(g), newWorker(g), newMigrate(g), newDoctor(g), newCheck(g), newConfig(g), newVersion(g))
	addTaskCommands(root, g)
	root.Args, root.SuggestionsMinimumDistance = unknownCommand, 2
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if _, err := g.load(); err != nil {
			return err
		}
		return taskcmd.Overview(cmd.Context(), g.streams())
	}
	root.InitDefaultHelpCmd()
	completion(root)
	sections(root)
	addExamples(root)
	groups(root)
	usageErrors(root)
	return root
}

// usageErrors gives the exit code of wrong usage to what cobra itself complains about.
func usageErrors(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(exit.Flag)
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return exit.With(exit.Usage, err)
			}
			return nil
		}
	}
	for _, child := range cmd.Commands() {
		usageErrors(child)
	}
}

// setting returns the value of a flag that is short for --set with a key; an empty one counts as not given.
func (g *globals) setting(key string) func(value string) error {
	return func(value string) error {
		if value != "" {
			g.set = append(g.set, key+"="+value)
		}
		return nil
	}
}

// command returns a command without arguments that needs the configuration.
func (g *globals) command(use, short string, run func(context.Context, *config.Loaded) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: taskcmd.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		loaded, err := g.load()
		if err != nil {
			return err
		}
		return run(cmd.Context(), loaded)
	}}
}

// load reads the configuration.
func (g *globals) load() (*config.Loaded, error) {
	params := map[string]string{}
	for _, pair := range g.set {
		key, value, found := strings.Cut(pair, "=")
		if !found || !slices.ContainsFunc(config.Fields(), func(f config.Field) bool { return f.Key == key }) {
			return nil, exit.Usagef("invalid --set %s: expected key=value with a key of docs/CONFIGURATION.md", pair)
		}
		params[key] = value
	}
	loaded, err := config.Load(config.Source{Params: params, Environ: g.env, WorkDir: g.dir})
	if err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	return loaded, nil
}

// answer prints v as JSON, or rows as a table, the first of which is the head.
func (g *globals) answer(v any, rows [][]string) error {
	if g.json {
		return render.JSON(g.stdout, v)
	}
	_, err := io.WriteString(g.stdout, taskcmd.StyleOf(g.stdout, g.variable).Table(rows))
	return err
}

// variable answers a variable as the commands that are clients see it: what --home and
// --api-url say, and what .env files say, counts as set.
func (g *globals) variable(name string) string {
	if loaded, err := g.load(); err == nil {
		switch name {
		case "OMOI_HOME":
			return loaded.Home
		case "OMOI_API_URL":
			return loaded.API.URL
		case "OMOI_API_KEY":
			return loaded.API.Key.Reveal()
		}
	}
	for _, pair := range g.env {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}
	return ""
}

// streams is what the commands of tasks see of the process.
func (g *globals) streams() taskcmd.IO {
	return taskcmd.IO{
		Env: g.variable, Stdin: g.stdin, Stdout: g.stdout, Stderr: g.stderr, Dir: g.dir, JSON: &g.json, Provider: g.provider,
	}
}

// addTaskCommands adds the commands with which users work on tasks.
func addTaskCommands(root *cobra.Command, g *globals) {
	for _, cmd := range taskcmd.Commands(g.streams()) {
		cmd.PersistentPreRunE = func(*cobra.Command, []string) error { // a wrong --set must not be passed over
			_, err := g.load()
			return err
		}
		root.AddCommand(cmd)
	}
	root.AddCommand(newDemo(g))
}

// provider opens a sandbox provider of this machine.
func (g *globals) provider(name string) (sandbox.Provider, error) {
	loaded, err := g.load()
	if err != nil {
		return nil, err
	}
	return app.OpenProvider(loaded, name)
}
