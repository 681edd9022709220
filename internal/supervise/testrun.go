package supervise

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/omoi-dev/omoi/internal/shellcmd"
)

var (
	// namesTests matches commands with a word such as test, pytest, unittest, jest, rspec, phpunit, check or test:unit.
	namesTests = regexp.MustCompile(`(?:^|[\s/:-])[\w.]*(?:[tj]est|spec|unit|check)(?::\S+)?(?:\s|$)`)
	flags      = regexp.MustCompile(` -\S+`)
	failedLine = regexp.MustCompile(`(?m)^\W*(?:FAIL(?:ED|URE)?\b|not ok\b|[●✕✗×] ).*`)
	failedSum  = regexp.MustCompile(`(?i)\b([1-9]\d*) (?:\w+ )?fail(?:ed|ing|ures?)?\b|\bfail(?:ed|ures?)[=:] ?([1-9]\d*)`)
)

// checksOf returns the commands of a task's test command, without cd.
func checksOf(text string) (checks []string) {
	for _, c := range shellcmd.In(text) {
		if line := c.Line(); line != "" && c.Words[0] != "cd" {
			checks = append(checks, line)
		}
	}
	return checks
}

// checkOf returns the tests that commands run, without flags: commands of the task's test command, perhaps behind a
// runner such as "uv run", or commands that name tests. Empty: none that are known.
func checkOf(list []shellcmd.Command, checks []string) string {
	var found []string
	for _, c := range list {
		line := c.Line()
		if namesTests.MatchString(line) && c.Words[0] != "test" || slices.ContainsFunc(checks, func(check string) bool { return strings.Contains(line+" ", check+" ") }) {
			found = append(found, flags.ReplaceAllString(line, ""))
		}
	}
	return strings.Join(found, "; ")
}

// maxOutput is the number of bytes of a failed run that are kept. The end has the failures, and fits several tracebacks.
const maxOutput = 4000

// testsOf reads the output of a test run: its report, else what runners print. The exit code alone does not suffice,
// because a pipe hides it. Nil: unknown, because the report is cut off.
func testsOf(text string, failed bool) *TestRun {
	var lines []string
	count, says := 0, errorOf
	switch r := reportIn(text); {
	case r == nil:
		lines, count = failedLine.FindAllString(text, -1), failedCount(text)
	case !r.whole:
		return nil
	default:
		lines, says = r.failed, func(string) string { return "" } // names say enough
	}
	slices.Sort(lines)
	lines = slices.Compact(lines)
	run := &TestRun{Failing: cmp.Or(count, len(lines))}
	if run.Passed = !failed && run.Failing == 0; run.Passed {
		return run
	}
	for i, line := range lines {
		lines[i] = sentenceOf(line)
	}
	run.Which = digest(strings.Join(append(lines, says(text)), "\n"))
	run.Output = text[max(0, len(text)-maxOutput):]
	return run
}

// failedCount returns the number of failed tests that an output says.
func failedCount(text string) (most int) {
	for _, sum := range failedSum.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(sum[1] + sum[2]) // too many digits count as none
		most = max(most, n)
	}
	return most
}
