package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// rerun runs some tests of one package and gives what go test -json says of them; nil: nobody can.
type rerun func(ctx context.Context, pkg string, tests []string) io.Reader

// mostAgain is how many failed tests are run once more: more are no accident.
const mostAgain = 3

// grave reports whether a line is of a failure that no second run excuses.
func grave(line string) bool {
	return strings.Contains(line, "race detected") || strings.Contains(line, "DATA RACE") ||
		strings.Contains(line, "panic:") || strings.Contains(line, "fatal error:")
}

// lose notes what has failed, for a second run.
func (r *report) lose(e event, said []string) {
	r.grave = r.grave || slices.ContainsFunc(said, grave)
	switch test, _, _ := strings.Cut(e.Test, "/"); {
	case test == "":
		r.grave = r.grave || len(r.losses[e.Package]) == 0 // a build, or a package that no test broke
	case !slices.Contains(r.losses[e.Package], test):
		r.losses[e.Package] = append(r.losses[e.Package], test)
	}
}

// excused runs the failed tests once more by themselves, and reports whether all of them pass now.
func (r *report) excused(ctx context.Context, again rerun) bool {
	tests := 0
	for _, names := range r.losses {
		tests += len(names)
	}
	if again == nil || r.grave || tests == 0 || tests > mostAgain {
		return false
	}
	for pkg, names := range r.losses {
		fmt.Fprintf(r.out, "once more, alone: %s %s\n", pkg, strings.Join(names, " "))
		second := &report{out: r.out, said: map[string][]string{}, losses: map[string][]string{}}
		if err := second.read(again(ctx, pkg, names)); err != nil || second.failed+second.broken > 0 || second.passed < len(names) {
			fmt.Fprint(r.out, strings.Join(second.wrong, ""))
			return false
		}
	}
	for pkg, names := range r.losses {
		fmt.Fprintf(r.out, "FLAKY %s %s: failed above and passed alone; the cause is to be found\n", pkg, strings.Join(names, " "))
	}
	return true
}

// goTest runs tests with a command such as go test -json -count=1.
func goTest(command []string) rerun {
	if len(command) == 0 {
		return nil
	}
	return func(ctx context.Context, pkg string, tests []string) io.Reader {
		args := slices.Concat(command[1:], []string{"-run", "^(" + strings.Join(tests, "|") + ")$", pkg})
		run := exec.CommandContext(ctx, command[0], args...) //nolint:gosec // the caller's own command
		run.Stderr = os.Stderr
		out, _ := run.Output() // what failed is in it
		return strings.NewReader(string(out))
	}
}
