package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/devstack"
)

// TestCommandLine runs the scripts of testdata against one installation, one after another,
// since "-" is the newest task of all. They have three commands of their own: `code N
// program ...` asks for an exit code, `field path value` looks into the JSON on standard output
// (value * is anything but nothing), `keep NAME path` takes a variable from it.
func TestCommandLine(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"OMOI_PRICE_LOCAL": "3.6 EUR/hour"}).up()
	temporal, err := devstack.FindTemporal("")
	require.NoError(t, err)
	testscript.RunT(serial{t}, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			for name, value := range r.env {
				if name != "HOME" && name != "PATH" {
					env.Setenv(name, value)
				}
			}
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("TMPDIR", os.TempDir()) // the doctor tries a sandbox there, as another user
			env.Setenv("PATH", bin+":"+filepath.Dir(temporal)+":"+r.env["PATH"])
			env.Setenv("GIT_CONFIG_COUNT", "2")
			env.Setenv("GIT_CONFIG_KEY_0", "user.name")
			env.Setenv("GIT_CONFIG_VALUE_0", "t")
			env.Setenv("GIT_CONFIG_KEY_1", "user.email")
			env.Setenv("GIT_CONFIG_VALUE_1", "t@example.com")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"code": exitCode, "field": field, "keep": keep},
	})
	r.noLeaks()
	require.Zero(t, r.count(`SELECT count(*) FROM tasks WHERE status NOT IN ('completed', 'failed', 'cancelled')`), "a script left a task")
}

// serial keeps scripts from running side by side.
type serial struct{ *testing.T }

func (serial) Parallel()     {}
func (serial) Verbose() bool { return testing.Verbose() }

// Run runs a script as a test of its own.
func (s serial) Run(name string, f func(testscript.T)) {
	s.T.Run(name, func(t *testing.T) { f(serial{t}) })
}

func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N program arguments")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("%v ended with %d, not %d", args[1:], got, want)
	}
}

func field(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: field path value")
	}
	value := at(ts, args[0])
	if same := value == args[1] || args[1] == "*" && value != ""; same == neg {
		ts.Fatalf("%s is %q", args[0], value)
	}
}

func keep(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: keep NAME path")
	}
	value := at(ts, args[1])
	ts.Setenv(args[0], value)
	if len(value) > 8 {
		ts.Setenv(args[0]+"_BEGIN", value[:len(value)-4])
		ts.Setenv(args[0]+"_END", value[len(value)-8:])
	}
}

// at is the value under a path of names and numbers, empty if there is none.
func at(ts *testscript.TestScript, path string) string {
	var value any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &value))
	for name := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(v) {
				return ""
			}
			value = v[i]
		default:
			return ""
		}
	}
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}
