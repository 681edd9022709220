package supervise

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const goEvents = `{"Action":"start","Package":"x/p"}
{"Action":"run","Package":"x/p","Test":"TestA"}
{"Action":"output","Package":"x/p","Test":"TestA","Output":"    a_test.go:7: {\"Action\":\"fail\"}\n"}
{"Action":"fail","Package":"x/p","Test":"TestA","Elapsed":0.01}
{"Action":"pass","Package":"x/p","Test":"TestB","Elapsed":0}
{"Action":"fail","Package":"x/p","Elapsed":0.1}
{"Action":"start","Package":"x/q"}
{"Action":"pass","Package":"x/q","Elapsed":0.2}
`

const junit = `<?xml version="1.0" encoding="utf-8"?><testsuites><testsuite name="pytest" tests="3">
<testcase classname="t.test_a" name="test_one" time="0.1"><failure message="1 == 2">assert 1 == 2</failure></testcase>
<testcase classname="t.test_a" name="test_two"><skipped/></testcase>
<testsuite><testcase classname="t.test_b" name="test_three"><error message="x"></error></testcase></testsuite></testsuite></testsuites>
`

const tap = "TAP version 13\nok 1 - starts\nnot ok 2 - adds numbers\n  ---\n  not ok: yes\n  ...\nnot ok 3 - later # TODO\n1..3\n"

const jest = `{"numFailedTests":1,"success":false,"testResults":[{"assertionResults":[
{"fullName":"math adds","status":"failed"},{"fullName":"math starts","status":"passed"}],"name":"a.test.js","status":"failed"}]}
`

const pytest = `{"exitcode":1,"summary":{"failed":1,"total":2},"tests":[{"nodeid":"t.py::test_a","outcome":"failed"},{"nodeid":"t.py::test_b","outcome":"passed"}]}
`

func TestTestsOf_Report(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text   string
		failed []string
	}{
		"go":     {goEvents, []string{"x/p", "x/p.TestA"}},
		"junit":  {junit, []string{"t.test_a.test_one", "t.test_b.test_three"}},
		"tap":    {tap, []string{"adds numbers"}},
		"jest":   {jest, []string{"math adds"}},
		"pytest": {pytest, []string{"t.py::test_a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := testsOf("> runs\n"+c.text, false) // a pipe hides the exit code
			require.False(t, run.Passed)
			require.Equal(t, len(c.failed), run.Failing)
			require.Equal(t, digest(strings.Join(append(c.failed, ""), "\n")), run.Which)
			for _, cut := range []string{c.text[:len(c.text)/2], c.text[:len(c.text)-8]} {
				require.Nil(t, testsOf(cut, true), cut)
			}
		})
	}
}

func TestTestsOf_Passed(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"ok  \tx/p\t0.1s", `{"Action":"start","Package":"p"}` + "\n" + `{"Action":"output","Package":"p","Output":"--- FAIL: TestOld"}` + "\n" + `{"Action":"pass","Package":"p"}`,
		`<testsuite><testcase name="FAILED x"/></testsuite>`, "1..1\nok 1 - 2 failed", `{"tests":[{"nodeid":"2 failed","outcome":"passed"}]}`,
	} {
		require.Equal(t, &TestRun{Passed: true}, testsOf(text, false), text)
		require.False(t, testsOf(text, true).Passed, text)
	}
}

// A program under test can print anything.
func TestTestsOf_PrintedByTests(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"Action":"create"}`, "<testsuite/>", "1..0", `{"nodeid":"x"}`} {
		require.Equal(t, 1, testsOf(text+"\n--- FAIL: TestA (0.00s)", false).Failing, text)
	}
}
