package supervise

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	testCommand = regexp.MustCompile(`(?:^|[\s/])(?:go test|gotestsum|pytest|py\.test|tox|nox|jest|vitest|mocha|ava|rspec|phpunit|ctest|bats|` +
		`(?:npm|pnpm|yarn|bun|deno)(?: run)? test|cargo (?:test|nextest)|(?:mvn|gradle|gradlew|sbt|dotnet|swift|mix|lein|rake|make|just|bazel)\s(?:\S+\s)*(?:test|check)\b|` +
		`python3? -m (?:unittest|pytest)|(?:manage\.py|django-admin) test\b|node --test)`)
	failedName = regexp.MustCompile(`(?m)^\s*(?:--- FAIL: (\S+)|(?:FAILED|ERROR)[ \t]+([^\s(]\S*)|(?:FAIL|ERROR): (\S+)|FAIL[ \t]+(\S+)|[●✕✗×]\s+(.+?)(?:\s+\([\d.]+ ?m?s\))?$|test (\S+) \.\.\. FAILED|not ok \d+ -? ?(.+)$)`)
	failedSum  = regexp.MustCompile(`(?i)\b(\d+) (?:tests? |specs? |examples? )?(?:failed|failing|failures?)\b`)
)

// checksOf returns the commands of a task's test command, without cd.
func checksOf(text string) (checks []string) {
	for _, c := range commandsIn(text) {
		if line := c.line(); line != "" && c.words[0] != "cd" {
			checks = append(checks, line)
		}
	}
	return checks
}

// isTest reports whether commands run tests: all checks of the task, perhaps behind a runner such as "uv run", or a
// common test runner.
func isTest(list []command, checks []string) bool {
	lacks := func(check string) bool {
		return !slices.ContainsFunc(list, func(c command) bool { return strings.Contains(c.line()+" ", check+" ") })
	}
	return len(checks) > 0 && !slices.ContainsFunc(checks, lacks) ||
		slices.ContainsFunc(list, func(c command) bool { return testCommand.MatchString(c.line()) })
}

// maxOutput is the number of bytes of a failed run that are kept. The end has the failures, and fits several tracebacks.
const maxOutput = 4000

// testsOf reads the output of a test run: its report, else what runners print. The exit code alone does not suffice,
// because a pipe hides it. Nil: unknown, because the report is cut off.
func testsOf(text string, failed bool) *TestRun {
	names, count := failedNames(text), failedCount(text)
	if r := reportIn(text); r != nil {
		if !r.whole {
			return nil
		}
		slices.Sort(r.failed)
		names, count = slices.Compact(r.failed), 0
	}
	count = cmp.Or(len(names), count)
	run := &TestRun{Passed: !failed && count == 0, Failing: count}
	if run.Passed {
		return run
	}
	run.Output = strings.ToLower(text[max(0, len(text)-maxOutput):])
	switch {
	case len(names) > 0:
		run.Which = digest(strings.Join(names, "\n"))
	default:
		run.Which = digest(strconv.Itoa(count) + errorOf(text))
	}
	return run
}

// failedNames returns the sorted, distinct names of failed tests.
func failedNames(text string) []string {
	var names []string
	for _, name := range firsts(failedName, text) {
		names = append(names, strings.TrimSuffix(name, ":"))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func failedCount(text string) int {
	most := 0
	for _, said := range firsts(failedSum, text) {
		if n, err := strconv.Atoi(said); err == nil {
			most = max(most, n)
		}
	}
	return most
}
