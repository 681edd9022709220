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

// globals is shared by all commands: the global flags and the environment of the process.
type globals struct {
	json   bool     // --json
	set    []string // --set key=value, and flags that set one setting
	env    []string // in the form of os.Environ
	dir    string   // working directory; empty: removed
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
}

// Run runs one command line and returns its exit code. When ctx ends, commands stop and clean up.
func Run(ctx context.Context, args, env []string, stdin io.Reader, stdout, stderr io.Writer) int { //nolint:revive // main passes all of the process
	dir, err := os.Getwd()
	if err != nil {
		dir = "" // the folder was removed
	}
	g := &globals{env: env, dir: dir, stdin: stdin, stdout: stdout, stderr: stderr}
	root := newRoot(g)
	root.SetArgs(append([]string{}, args...)) // never nil: cobra would read os.Args
	cmd, err := root.ExecuteContextC(ctx)
	err = exit.InFlags(err, func(flag string) bool { return cmd.Flags().Lookup(flag) != nil })
	return exit.Report(stderr, err, g.json || wantsJSON(args))
}

// wantsJSON reports whether args contain --json, for command lines whose flags do not parse.
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

// Root returns the tree of all commands, for tools that read its texts.
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
	root.AddCommand(newDev(g), newAPI(g), newWorker(g), newMigrate(g), newImport(g), newDoctor(g), newCheck(g), newConfig(g), newOpenHands(g), newVersion(g))
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

// usageErrors gives cobra's own errors about flags and arguments the exit code of wrong usage.
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

// setting returns the setter of a flag that stands for --set key=value. An empty value is ignored.
func (g *globals) setting(key string) func(value string) error {
	return func(value string) error {
		if value != "" {
			g.set = append(g.set, key+"="+value)
		}
		return nil
	}
}

// command returns a command without arguments that loads the configuration before it runs.
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

// answer prints v as JSON if --json is set, else rows as a table. The first row is the head.
func (g *globals) answer(v any, rows [][]string) error {
	if g.json {
		return render.JSON(g.stdout, v)
	}
	_, err := io.WriteString(g.stdout, taskcmd.StyleOf(g.stdout, g.variable).Table(rows))
	return err
}

// variable returns an environment variable for client commands. For OMOI_HOME, OMOI_API_URL and OMOI_API_KEY the flags
// and .env files count too.
func (g *globals) variable(name string) string {
	settings := map[string]func(*config.Loaded) string{
		"OMOI_HOME":    func(l *config.Loaded) string { return l.Home },
		"OMOI_API_URL": func(l *config.Loaded) string { return l.API.URL },
		"OMOI_API_KEY": func(l *config.Loaded) string { return l.API.Key.Reveal() },
	}
	if setting := settings[name]; setting != nil {
		if loaded, err := g.load(); err == nil {
			return setting(loaded)
		}
	}
	for _, pair := range g.env {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}
	return ""
}

// streams returns the process environment for the commands of package taskcmd.
func (g *globals) streams() taskcmd.IO {
	return taskcmd.IO{
		Env: g.variable, Stdin: g.stdin, Stdout: g.stdout, Stderr: g.stderr, Dir: g.dir, JSON: &g.json, Provider: g.provider,
	}
}

// addTaskCommands adds the commands of package taskcmd, and demo.
func addTaskCommands(root *cobra.Command, g *globals) {
	for _, cmd := range taskcmd.Commands(g.streams()) {
		cmd.PersistentPreRunE = func(*cobra.Command, []string) error { // report a wrong --set, also if the command needs no configuration
			_, err := g.load()
			return err
		}
		root.AddCommand(cmd)
	}
	root.AddCommand(newDemo(g))
}

// provider opens a sandbox provider with the configuration of this machine.
func (g *globals) provider(name string) (sandbox.Provider, error) {
	loaded, err := g.load()
	if err != nil {
		return nil, err
	}
	return app.OpenProvider(loaded, name)
}
