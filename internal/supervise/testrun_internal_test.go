package supervise

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/shellcmd"
)

// A pipe can hide the exit code.
func TestTestsOf_Printed(t *testing.T) {
	t.Parallel()
	for text, failing := range map[string]int{
		"--- FAIL: TestA (0.01s)\n    a_test.go:7: no\nFAIL\texample.org/p\t0.1s\nok  \texample.org/q": 2,
		"FAIL: test_a (t.A)\n---\nERROR: test_b (t.A)\nFAILED (failures=1, errors=1)":                  1,
		"FAILED t.py::test_a - assert 1 == 2\n=== 1 failed, 2 passed in 0.1s ===":                      1,
		"  ✕ adds numbers (3 ms)\n  ✓ starts\nTests:       3 failed, 1 passed":                         3,
		"test tests::adds ... FAILED\ntest result: FAILED. 1 passed; 1 failed; 0 ignored":              1,
		"Tests run: 3, Failures: 2, Errors: 0":                                                         2,
		"test result: ok. 2 passed; 0 failed; 0 ignored":                                               0,
		"FAILED (failures=0)": 1,
		"All is well.":        0,
	} {
		run := testsOf(text, false)
		require.Equal(t, failing, run.Failing, text)
		require.Equal(t, failing == 0, run.Passed, text)
	}
}

// A run is the same if its failures and their messages are the same, whatever time it takes.
func TestTestsOf_Which(t *testing.T) {
	t.Parallel()
	const text = "--- FAIL: TestA (0.01s)\n    a_test.go:7: expected 3, got 4\nFAIL"
	require.Equal(t, testsOf(text, true).Which, testsOf(strings.ReplaceAll(text, "0.01s", "3.2s"), true).Which)
	require.NotEqual(t, testsOf(text, true).Which, testsOf(strings.ReplaceAll(text, "got 4", "got 5"), true).Which)
	require.NotEqual(t, testsOf(text, true).Which, testsOf(strings.ReplaceAll(text, "TestA", "TestB"), true).Which)
}

func TestCheckOf(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"go test -v ./...": "go test ./...", "cd x && python3 -m unittest 2>&1 | tail -3": "python3 unittest", "npm test": "npm test", "make test": "make test",
		"cargo test -q": "cargo test", ".venv/bin/pytest -q": ".venv/bin/pytest", "npx jest": "jest", "python manage.py test": "python manage.py test",
		"./manage.py test shop --keepdb": "./manage.py test shop", "uv run python -Wa manage.py test": "python manage.py test",
		"npm run test:unit": "npm run test:unit", "./gradlew :app:test": "./gradlew :app:test", "bundle exec rspec": "bundle exec rspec", "node --test": "node",
		"": "", "cat test.py": "", "git commit -m 'run go test'": "", "go test ./... 'open": "", "make build": "", "ls tests": "",
		"python manage.py testserver": "", "test -f x": "",
	} {
		require.Equal(t, want, checkOf(shellcmd.In(command), nil), command)
	}
	checks := checksOf("cd x && ./run.sh --all")
	for _, command := range []string{"FAST=1 ./run.sh --all | tail", "timeout 60 ./run.sh --all -v", "cd x; uv run ./run.sh --all"} {
		require.Equal(t, "./run.sh", checkOf(shellcmd.In(command), checks), command)
	}
	require.Empty(t, checksOf("cd x && 'my run.sh'"))
	for _, command := range []string{"cd x", "cat run.sh", "git commit -m './run.sh --all'", "./run.sh --all; echo 'open"} {
		require.Empty(t, checkOf(shellcmd.In(command), checks), command)
	}
}

func TestTemplateOf(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{
		{"ok p 0.012s", "ok p 1.4s"},
		{"ok p (cached)", "ok p 0.3s"},
		{"at 09:01:02 done", "at 23:59:59   done"},
		{"2026-11-22T09:18:38Z up", "2025-01-01T00:00:00Z up"},
		{"2026-11-22 09:18:38,123 up", "2025-01-01 00:00:00,4 up"},
		{"in 0.12 seconds", "in 3 seconds"},
		{"Time: 2.345 s (3 ms)", "Time: 12 s (1m3.2s)"},
		{"pointer 0xc000123 bad", "pointer 0xc000fff bad"},
		{"HEAD is now at 3f9c1d2", "HEAD is now at e0cf61fe7a2"},
		{"id=6e7b3f52-0c1d-4e2a-9b8f-7a6c5d4e3f2a", "id=00000000-0000-4000-8000-000000000000"},
		{"wrote /tmp/abc/x", "wrote /tmp/def/y"},
		{`{"path":"/tmp/a","up":"1h2m"}`, `{"path":"/tmp/b","up":"3d4h"}`},
	} {
		a, numbers := templateOf(pair[0])
		b, others := templateOf(pair[1])
		require.Equal(t, a, b, pair)
		require.Equal(t, numbers, others, pair)
	}
	for _, pair := range [][2]string{
		{"migrated 3 of 9", "migrated 4 of 9"},
		{"3 failed", "2 failed"},
		{"v1.2.3", "v1.2.4"},
		{"port 80", "port 8080"},
		{"3 steps", "4 steps"},
		{"", "x"},
		{`{"path":"/tmp/a","up":true}`, `{"path":"/tmp/a","up":false}`},
		{strings.Repeat("1 ", maxNumbers) + "2", strings.Repeat("1 ", maxNumbers) + "3"},
	} {
		a, numbers := templateOf(pair[0])
		b, others := templateOf(pair[1])
		require.False(t, a == b && slices.Equal(numbers, others), pair)
	}
}

func TestSeries_Moves(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		values []float64
		want   []bool
	}{
		"up":           {[]float64{1, 2, 2, 9}, []bool{true, false, true}},
		"down":         {[]float64{9, 3, 1}, []bool{true, true}},
		"up and down":  {[]float64{4, 7, 2, 9, 1}, []bool{true, false, false, false}},
		"back and up":  {[]float64{1, 2, 1, 2, 3}, []bool{true, false, false, false}},
		"not a number": {[]float64{1, math.Inf(1), math.Inf(1)}, []bool{true, false}},
	} {
		s := &series{last: c.values[:1], ways: make([]int, 1)}
		var got []bool
		for i := range c.want {
			got = append(got, s.moves(c.values[i+1:i+2]))
		}
		require.Equal(t, c.want, got, name)
	}
}
