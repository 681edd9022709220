package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	failsSub = `{"Action":"fail","Package":"p","Test":"TestB/sub"}`
	fails    = `{"Action":"fail","Package":"p","Test":"TestB"}`
	failsPkg = `{"Action":"fail","Package":"p"}`
	passesB  = `{"Action":"pass","Package":"p","Test":"TestB"}`
)

// twice reports a first run, and answers then to whoever asks for a second one.
func twice(t *testing.T, then string, lines ...string) (out string, asked []string, err error) {
	t.Helper()
	var text strings.Builder
	err = run(strings.NewReader(strings.Join(lines, "\n")), &text, func(_ context.Context, pkg string, tests []string) io.Reader {
		asked = append(asked, pkg+" "+strings.Join(tests, " "))
		return strings.NewReader(then)
	})
	return text.String(), asked, err
}

func TestAFailureThatPassesAloneIsCalledFlaky(t *testing.T) {
	t.Parallel()
	out, asked, err := twice(t, passesB, passes, failsSub, fails, failsPkg, `{"Action":"exit"}`)
	require.NoError(t, err)
	require.Equal(t, []string{"p TestB"}, asked)
	require.Contains(t, out, "FAILED p TestB")
	require.Contains(t, out, "FLAKY p TestB: failed above and passed alone")
}

func TestWhatASecondRunDoesNotExcuse(t *testing.T) {
	t.Parallel()
	says := func(text string) string {
		return fmt.Sprintf(`{"Action":"output","Package":"p","Test":"TestB","Output":%q}`, text)
	}
	var many []string
	for n := range mostAgain + 1 {
		many = append(many, strings.ReplaceAll(fails, "TestB", fmt.Sprintf("TestB%d", n)))
	}
	for name, c := range map[string]struct {
		then  string
		lines []string
		asks  bool
	}{
		"fails again":          {fails, []string{fails, failsPkg}, true},
		"is not run again":     {"", []string{fails, failsPkg}, true},
		"race":                 {passesB, []string{says("testing.go:1: race detected during execution of test"), fails, failsPkg}, false},
		"panic":                {passesB, []string{says("panic: test timed out"), fails, failsPkg}, false},
		"a build":              {passesB, []string{`{"Action":"build-fail","ImportPath":"q"}`, fails, failsPkg}, false},
		"a package by itself":  {passesB, []string{passes, failsPkg}, false},
		"another package, too": {passesB, []string{fails, failsPkg, `{"Action":"fail","Package":"q"}`}, false},
		"many":                 {passesB, append(many, failsPkg), false},
		"nothing ran":          {passesB, nil, false},
		"no test said why":     {passesB, []string{passes, `{"Action":"exit"}`}, false},
	} {
		_, asked, err := twice(t, c.then, c.lines...)
		require.Error(t, err, name)
		require.Equal(t, c.asks, len(asked) > 0, name)
	}
}

func TestTheSecondRunIsTheCommandOfTheFirst(t *testing.T) {
	t.Parallel()
	require.Nil(t, goTest(nil))
	said, err := io.ReadAll(goTest([]string{"echo", "-race"})(t.Context(), "./p", []string{"TestA", "TestB"}))
	require.NoError(t, err)
	require.Equal(t, "-race -run ^(TestA|TestB)$ ./p\n", string(said))
}
