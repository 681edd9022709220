package supervise

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	testCommand = regexp.MustCompile(`(?:^|[\s;&|(/])(?:go test|gotestsum|pytest|py\.test|tox|nox|jest|vitest|mocha|ava|rspec|phpunit|ctest|bats|` +
		`(?:npm|pnpm|yarn|bun|deno)(?: run)? test|cargo (?:test|nextest)|(?:mvn|gradle|gradlew|sbt|dotnet|swift|mix|lein|rake|make|just|bazel)\s(?:\S+\s)*(?:test|check)\b|` +
		`python3? -m (?:unittest|pytest)|(?:manage\.py|django-admin) test\b|node --test)`)
	failedName = regexp.MustCompile(`(?m)^\s*(?:--- FAIL: (\S+)|(?:FAILED|ERROR)[ \t]+([^\s(]\S*)|(?:FAIL|ERROR): (\S+)|FAIL[ \t]+(\S+)|[●✕✗×]\s+(.+?)(?:\s+\([\d.]+ ?m?s\))?$|test (\S+) \.\.\. FAILED|not ok \d+ -? ?(.+)$)`)
	failedSum  = regexp.MustCompile(`(?i)\b(\d+) (?:tests? |specs? |examples? )?(?:failed|failing|failures?)\b`)
)

// isTest reports whether a shell command runs tests: known, the test command of the task, or a common test runner.
func isTest(command, known string) bool {
	if command == "" {
		return false
	}
	return known != "" && strings.Contains(command, known) || testCommand.MatchString(command)
}

// maxOutput is the number of bytes of a failed run that are kept. The end has the failures, and fits several tracebacks.
const maxOutput = 4000

// testsOf reads the output of a test run. The exit code alone does not suffice, because a pipe hides it.
func testsOf(text string, failed bool) *TestRun {
	names := failedNames(text)
	count := len(names)
	if count == 0 {
		count = failedCount(text)
	}
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
