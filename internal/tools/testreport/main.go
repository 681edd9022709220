// Command testreport reads the output of go test -json and prints what matters of it: go
// test's own line for every package, everything that a failed test said, and at the end
// how many tests were skipped and why, and once more the first lines of what each failed
// test found wrong. It fails if a test or a build has failed.
//
// Its arguments, if any, are the command that runs tests, without packages: with it a few failed
// tests are run once more by themselves, and those that pass then are called FLAKY.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

func main() {
	if err := run(os.Stdin, os.Stdout, goTest(os.Args[1:])); err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(1)
	}
}

// event is a line of go test -json.
type event struct {
	Action  string `json:"Action"`  //nolint:tagliatelle // the names are go test's
	Package string `json:"Package"` //nolint:tagliatelle // the names are go test's
	Test    string `json:"Test"`    //nolint:tagliatelle // the names are go test's
	Output  string `json:"Output"`  //nolint:tagliatelle // the names are go test's
}

type report struct {
	out     io.Writer
	said    map[string][]string // by package and test, until it has ended
	skipped []string
	wrong   []string // of each failed test, what it found
	passed  int
	failed  int // tests
	broken  int // packages
	exit    bool

	losses map[string][]string // top-level tests that failed, by package
	grave  bool                // something failed that a second run excuses in no case
}

// run reports what in says, after a second run by again of the few tests that failed.
func run(in io.Reader, out io.Writer, again rerun) error {
	r := &report{out: out, said: map[string][]string{}, losses: map[string][]string{}}
	if err := r.read(in); err != nil {
		return err
	}
	return r.close(context.Background(), again)
}

func (r *report) read(in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Fprintln(r.out, lines.Text()) // not of go test: a build's complaint
			continue
		}
		r.take(e)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read test output: %w", err)
	}
	return nil
}

func (r *report) take(e event) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "output", "build-output":
		r.output(key, e)
	case "pass":
		r.passed += one(e)
		delete(r.said, key)
	case "skip":
		r.skip(key, e)
	case "exit": // of go test itself, not well
		r.exit = true
	case "fail", "build-fail":
		r.broken += 1 - one(e)
		r.failed += one(e)
		r.lose(e, r.said[key])
		fmt.Fprint(r.out, strings.Join(r.said[key], ""))
		if e.Test == "" {
			r.cutShort(e.Package)
		}
		r.wrong = append(r.wrong, "FAILED "+key+"\n"+strings.Join(found(r.said[key]), ""))
		delete(r.said, key)
	}
}

// cutShort prints what tests of a package said that did not end, for example the stacks at a timeout.
func (r *report) cutShort(pkg string) {
	for _, key := range slices.Sorted(maps.Keys(r.said)) {
		if strings.HasPrefix(key, pkg+" ") {
			fmt.Fprint(r.out, strings.Join(r.said[key], ""))
			delete(r.said, key)
		}
	}
}

// output keeps what tests say and passes on what go test says itself.
func (r *report) output(key string, e event) {
	if e.Test != "" {
		r.said[key] = append(r.said[key], e.Output)
		return
	}
	if e.Output != "PASS\n" {
		fmt.Fprint(r.out, e.Output)
	}
}

func one(e event) int {
	if e.Test == "" {
		return 0
	}
	return 1
}

// found is what a test said was wrong: from the assertion's first line on, or the end of all that it said if it asserted nothing.
func found(said []string) []string {
	const enough = 40
	from := slices.IndexFunc(said, func(line string) bool { return strings.Contains(line, "Error Trace:") })
	if from < 0 {
		from = max(len(said)-enough, 0)
	}
	return said[from:min(from+enough, len(said))]
}

func (r *report) skip(key string, e event) {
	if e.Test == "" {
		return // a package without tests
	}
	why := "no reason given"
	for _, line := range r.said[key] {
		if text := strings.TrimSpace(line); text != "" && !strings.HasPrefix(text, "===") && !strings.HasPrefix(text, "---") {
			why = text
		}
	}
	r.skipped = append(r.skipped, fmt.Sprintf("%s %s: %s", e.Package, e.Test, why))
	delete(r.said, key)
}

func (r *report) close(ctx context.Context, again rerun) error {
	slices.Sort(r.skipped)
	for _, line := range r.skipped {
		fmt.Fprintln(r.out, "SKIPPED", line)
	}
	fmt.Fprint(r.out, strings.Join(r.wrong, ""))
	fmt.Fprintf(r.out, "%d tests passed, %d failed, %d skipped\n", r.passed, r.failed, len(r.skipped))
	bad := r.exit || r.failed > 0 || r.broken > 0 || r.passed == 0
	if bad && !r.excused(ctx, again) {
		return fmt.Errorf("%d tests and %d packages failed", r.failed, r.broken)
	}
	return nil
}
