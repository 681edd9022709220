package supervise_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/taskcontract"
)

func TestLoop(t *testing.T) {
	t.Parallel()
	again := func(tp *tape, _ int) { tp.bash("cat config.yaml", "port: 80") }
	hold(t, []judged{
		{name: "the same call", tape: newTape().times(5, again), want: []string{"loop"}},
		{name: "one time less", tape: newTape().times(4, again)},
		{name: "answers that differ by times only", want: []string{"loop"}, tape: newTape().times(6, func(tp *tape, i int) {
			tp.bash("make check", fmt.Sprintf("ok pkg 0.0%ds at 09:0%d:12", i, i))
		})},
		{name: "answers that count up", tape: newTape().times(9, func(tp *tape, i int) {
			tp.bash("./migrate --next", fmt.Sprintf("migrated %d of 400", i))
		})},
		{name: "answers with numbers that go up and down", want: []string{"loop"}, tape: newTape().times(8, func(tp *tape, i int) {
			tp.bash("curl -s localhost/health", fmt.Sprintf(`{"ok":false,"request":"%08x-0c1d-4e2a-9b8f-7a6c5d4e3f2a","memory":%d,"ms":%d}`, i, 500+i*37%11, i*5%3))
		})},
		{name: "one number of many that counts down", tape: newTape().times(9, func(tp *tape, i int) {
			tp.bash("./migrate --next", fmt.Sprintf("%d rows in %d ms, %d left", i*37%11, i*5%7, 90-i))
		})},
		{name: "numbers that come back", want: []string{"loop"}, tape: newTape().times(7, func(tp *tape, i int) { tp.bash("wc -l a.txt", strconv.Itoa(i%2)) })},
		{name: "with edits in between", tape: newTape().times(8, func(tp *tape, i int) {
			tp.edit("a.go", fmt.Sprintf("+line %d", i)).bash("go vet ./...", "")
		})},
		{name: "with new files read in between", tape: newTape().times(8, func(tp *tape, i int) {
			tp.bash("git status --short", "").read(fmt.Sprintf("f%d.go", i))
		})},
		{name: "told once, and by its own word again", tape: newTape().told("Look again.").times(4, again).claims("Look again.").times(4, again), want: []string{"loop"}},
		{name: "a person spoke", tape: newTape().times(4, again).told("Look again, I have changed it.").times(4, again)},
		{name: "two calls in turn", want: []string{"loop"}, tape: newTape().times(5, func(tp *tape, _ int) { tp.read("a.go").read("b.go") })},
		{name: "two calls in turn, one round less", tape: newTape().times(4, func(tp *tape, _ int) { tp.read("a.go").read("b.go") })},
		{name: "an edit that is taken back and made again", want: []string{"loop"}, tape: newTape().times(5, func(tp *tape, _ int) {
			tp.call("Edit", map[string]any{"file_path": "a.go", "x": 1}, "done", false).edit("a.go", "-old", "+new")
			tp.call("Edit", map[string]any{"file_path": "a.go", "x": 2}, "done", false).edit("a.go", "-new", "+old")
		})},
		{name: "polling", tape: newTape().times(12, func(tp *tape, _ int) { tp.bash("sleep 30; gh run view 7", "in progress").wait(30 * time.Second) })},
		{name: "polling for too long", want: []string{"loop", "no_progress"}, tape: newTape().times(70, func(tp *tape, _ int) {
			tp.bash("sleep 30; gh run view 7", "in progress").wait(30 * time.Second)
		})},
		{name: "slow and no polling", want: []string{"loop"}, tape: newTape().times(6, func(tp *tape, _ int) { tp.bash("cat config.yaml", "port: 80").wait(20 * time.Second) })},
		{name: "one slow call of many", tape: newTape().times(3, again).wait(19*time.Second).took("cat config.yaml", "port: 80", 20*time.Second).times(4, again), want: []string{"loop"}},
		{name: "one pause of many calls", tape: newTape().bash("sleep 5", "").times(4, again).bash("sleep 5", "").times(4, again), want: []string{"loop"}},
		{name: "a pause in each round", tape: newTape().times(9, func(tp *tape, _ int) { again(tp.bash("sleep 20", "").wait(20*time.Second), 0) })},
		{name: "over", tape: newTape().times(9, again).read("new.go")},
		{name: "seen in the middle of a call", tape: newTape().times(3, again).beat("running", "Bash", time.Second).times(3, again), want: []string{"loop"}},
		{name: "at its end", tape: newTape().times(9, again).done()},
		{name: "at its end, and the runtime tells of itself", tape: newTape().times(9, again).done().system("task_notification")},
	})
}

func TestNoProgress(t *testing.T) {
	t.Parallel()
	talk := func(tp *tape, i int) { tp.say(fmt.Sprintf("I think about step %d.", i)).wait(time.Minute) }
	hold(t, []judged{
		{name: "silent", tape: newTape().read("a.go").wait(11*time.Minute).beat("running", "", 0), want: []string{"no_progress"}},
		{name: "silent for a while", tape: newTape().read("a.go").wait(9*time.Minute).beat("running", "", 0)},
		{name: "silent and not alive", tape: newTape().beat("running", "", 0).wait(11 * time.Minute)},
		{
			name: "waiting as it was meant to", tape: newTape().read("a.go").wait(11*time.Minute).beat("waiting", "", 0),
			with: func(s *supervise.Subject) { s.WaitsForMessages = true },
		},
		{name: "long tests", tape: newTape().read("a.go").wait(25*time.Minute).beat("running", "Bash", 25*time.Minute)},
		{name: "a tool that hangs", tape: newTape().read("a.go").wait(31*time.Minute).beat("running", "Bash", 31*time.Minute), want: []string{"no_progress"}},
		{name: "a tool that is always said to have just begun", tape: newTape().read("a.go").wait(31*time.Minute).beat("running", "Bash", time.Second), want: []string{"no_progress"}},
		{name: "talk alone", tape: newTape().times(6, talk), want: []string{"no_progress"}},
		{name: "some talk", tape: newTape().times(5, talk)},
		{name: "talk with a person", tape: newTape().times(9, func(tp *tape, i int) { talk(tp.told("And now?"), i) })},
		{
			name: "nothing new", want: []string{"no_progress"},
			tape: newTape().read("a.go").read("b.go").read("c.go").read("d.go").read("e.go").read("f.go").wait(13 * time.Minute).
				read("c.go").read("a.go").read("e.go").read("b.go").read("f.go").read("d.go").read("b.go").read("a.go").read("e.go"),
		},
		{
			name: "nothing new, with one pause", want: []string{"no_progress"},
			tape: newTape().bash("sleep 5", "").read("a.go").read("b.go").read("c.go").read("d.go").read("e.go").wait(13*time.Minute).
				read("c.go").read("a.go").read("e.go").read("b.go").bash("sleep 5", "").read("d.go").read("c.go").read("a.go").read("e.go"),
		},
		{name: "many reads before the first edit", tape: newTape().times(60, func(tp *tape, i int) { tp.read(fmt.Sprintf("f%d.go", i)).wait(20 * time.Second) })},
	})
}

func TestLoop_ConfidenceGrowsWithTheCount(t *testing.T) {
	t.Parallel()
	confidence := func(calls int) float64 {
		tape := newTape().times(calls, func(tp *tape, _ int) { tp.bash("cat config.yaml", "port: 80") })
		return supervise.Rules(tape.subject(), supervise.DefaultSettings()).Confidence
	}
	require.InDelta(t, 0.82, confidence(5), 1e-9)
	require.InDelta(t, 0.88, confidence(8), 1e-9)
}

func TestIdleAfterEnd(t *testing.T) {
	t.Parallel()
	hold(t, []judged{
		{name: "idle", tape: newTape().done().wait(6*time.Minute).beat("waiting", "", 0), want: []string{"idle_after_end"}},
		{name: "just done", tape: newTape().done().wait(4*time.Minute).beat("waiting", "", 0)},
		{name: "works on", tape: newTape().done().wait(6*time.Minute).read("a.go").beat("running", "", 0)},
		{name: "waits for nobody", tape: newTape().add(event.AgentWaiting, nil).wait(6*time.Minute).beat("waiting", "", 0), want: []string{"idle_after_end"}},
		{
			name: "waits while a checkpoint is taken", want: []string{"idle_after_end"},
			tape: newTape().add(event.AgentWaiting, nil).wait(3*time.Minute).add(event.AgentCheckpoint, nil).add(event.AgentCheckpointFailed, nil).wait(3*time.Minute).beat("waiting", "", 0),
		},
		{name: "while the runtime tells of itself", tape: newTape().done().wait(3*time.Minute).system("task_notification").wait(3*time.Minute).beat("waiting", "", 0), want: []string{"idle_after_end"}},
		{name: "waits while the runtime tells of itself", want: []string{"idle_after_end"}, tape: newTape().add(event.AgentWaiting, nil).wait(3*time.Minute).
			system("task_notification").wait(3*time.Minute).beat("waiting", "", 0)},
		{name: "waits for a moment", tape: newTape().add(event.AgentWaiting, nil).wait(4*time.Minute).beat("waiting", "", 0)},
		{name: "was told more", tape: newTape().done().wait(6*time.Minute).told("One more thing.").beat("running", "", 0)},
		{name: "gone", tape: newTape().beat("waiting", "", 0).done().wait(6 * time.Minute)},
		{
			name: "meant to stay", tape: newTape().done().wait(6*time.Minute).beat("waiting", "", 0),
			with: func(s *supervise.Subject) { s.WaitsForMessages = true },
		},
	})
}

func TestSameError(t *testing.T) {
	t.Parallel()
	build := func(tp *tape, i int) {
		tp.edit("a.go", fmt.Sprintf("+try %d", i)).fails("go build ./...", fmt.Sprintf("a.go:%d:2: undefined: frobnicate", i))
	}
	health := func(tp *tape, _ int) {
		tp.fails("sleep 5 && curl -fsS localhost:8080/health", "curl: (7) Failed to connect to localhost port 8080: Connection refused").wait(5 * time.Second)
	}
	hold(t, []judged{
		{name: "the same error", tape: newTape().times(5, build), want: []string{"repeated_error"}},
		{name: "one time less", tape: newTape().times(4, build)},
		{name: "other errors", tape: newTape().times(9, func(tp *tape, i int) {
			tp.edit("a.go", fmt.Sprintf("+try %d", i)).fails("go build ./...", fmt.Sprintf("a.go:1:2: undefined: name%d", i))
		})},
		{name: "fewer and fewer", tape: newTape().times(9, func(tp *tape, i int) {
			tp.edit("a.go", fmt.Sprintf("+try %d", i)).fails("make lint", strings.Repeat("a.go: error: bad line\n", 20-i))
		})},
		{name: "it went well in between", tape: newTape().times(4, build).bash("go build ./...", "").times(4, func(tp *tape, i int) { build(tp, i+4) })},
		{name: "waiting for a server", tape: newTape().times(9, health)},
		{name: "waiting for a server that never comes", tape: newTape().times(10, health), want: []string{"repeated_error"}},
		{name: "a server that no edit mends", want: []string{"repeated_error"}, tape: newTape().times(5, func(tp *tape, i int) {
			health(tp.call("Edit", map[string]any{"file_path": "a.go"}, "done", false).edit("a.go", fmt.Sprintf("+try %d", i)), i)
		})},
		{name: "searches that find nothing", tape: newTape().times(9, func(tp *tape, i int) { tp.fails(fmt.Sprintf("grep -rn name%d .", i), "") })},
		{name: "in the tags of Claude Code", want: []string{"repeated_error"}, tape: newTape().times(5, func(tp *tape, i int) {
			old := fmt.Sprintf("port: 80%d", i)
			tp.call("Edit", map[string]any{"file_path": "/workspace/config.yaml", "old_string": old, "new_string": "port: 90", "replace_all": false},
				"<tool_use_error>String to replace not found in file.\nString: "+old+"</tool_use_error>", true)
		})},
		{name: "in many ways", want: []string{"repeated_error"}, tape: newTape().times(6, func(tp *tape, i int) {
			tp.fails(fmt.Sprintf("pip install -r r%d.txt", i), "ERROR: Could not find a version that satisfies the requirement foo")
		})},
	})
}

func TestTestsFailing(t *testing.T) {
	t.Parallel()
	run := func(tp *tape, i int) {
		tp.edit("a.go", fmt.Sprintf("+try %d", i)).fails("go test ./...", fmt.Sprintf("--- FAIL: TestParse (0.0%ds)\nFAIL\texample.org/p\t0.1s", i))
	}
	const net = "--- FAIL: TestFetch (0.01s)\n    fetch_test.go:9: dial tcp: network is unreachable\nFAIL\texample.org/p\t0.1s"
	hold(t, []judged{
		{name: "unchanged", tape: newTape().times(4, run), want: []string{"tests_failing"}},
		{name: "one time less", tape: newTape().times(3, run)},
		{name: "fewer and fewer", tape: newTape().times(7, func(tp *tape, i int) {
			tp.edit("a.go", fmt.Sprintf("+try %d", i)).fails("pytest -q", fmt.Sprintf("FAILED t.py::a\n%d failed, 3 passed", 9-i))
			tp.rows[len(tp.rows)-1].Data = []byte(fmt.Sprintf(`{"tool_use_id":"toolu_%04d","is_error":true,"result":"%d failed, 3 passed"}`, tp.calls, 9-i))
		})},
		{name: "failed before the first edit, and the edits are elsewhere", tape: newTape().fails("go test ./...", net).times(6, func(tp *tape, i int) {
			tp.edit(fmt.Sprintf("docs/page_%d.md", i), "+page").fails("go test ./...", net)
		})},
		{name: "failed before the first edit, and the edits are for it", want: []string{"tests_failing"}, tape: newTape().fails("go test ./...", net).times(3, func(tp *tape, i int) {
			tp.edit("fetch.go", fmt.Sprintf("+try %d", i)).fails("go test ./...", net)
		})},
		{name: "a bisection", tape: newTape().times(6, func(tp *tape, i int) {
			tp.bash(fmt.Sprintf("git checkout -q HEAD~%d", i), fmt.Sprintf("at %d", i)).edit("a.go", fmt.Sprintf("+try %d", i)).fails("make test", "test failed")
		})},
		{name: "passed since", tape: newTape().times(5, run).bash("go test ./...", "ok")},
		{name: "of Django", want: []string{"tests_failing"}, tape: newTape().times(4, func(tp *tape, i int) {
			tp.edit("shop/models.py", fmt.Sprintf("+try %d", i)).call("Bash", map[string]any{"command": "python manage.py test shop", "description": "Run tests"}, django, true)
		})},
		{name: "behind a pipe", want: []string{"tests_failing"}, tape: newTape().times(4, func(tp *tape, i int) {
			tp.edit("a.py", fmt.Sprintf("+try %d", i)).bash("pytest -q | tail -3", "FAILED t.py::test_a - assert 1 == 2\n1 failed, 3 passed in 0.12s")
		})},
	})
}

// django is what Claude Code reports of a failed test run of Django.
const django = `Exit code 1
Found 2 test(s).
Creating test database for alias 'default'...
System check identified no issues (0 silenced).
F.
======================================================================
FAIL: test_total (shop.tests.CartTests.test_total)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/workspace/shop/tests.py", line 9, in test_total
    self.assertEqual(Cart().total(), 3)
AssertionError: 0 != 3

----------------------------------------------------------------------
Ran 2 tests in 0.004s

FAILED (failures=1)
Destroying test database for alias 'default'...`

func TestOutsideAndConstraints(t *testing.T) {
	t.Parallel()
	only := accepts(taskcontract.Contract{AllowedPaths: []string{"src/"}, ForbiddenCommands: []string{"git push --force"}})
	not := accepts(taskcontract.Contract{ForbiddenPaths: []string{"tests/", "go.mod"}})
	noTests, nothing := accepts(taskcontract.Contract{TestsMayChange: new(false)}), accepts(taskcontract.Contract{ChangeWanted: new(false)})
	proposed := func(s *supervise.Subject) {
		s.Contract.Proposed = taskcontract.Contract{AllowedPaths: []string{"src/"}}
	}
	hold(t, []judged{
		{name: "inside", tape: newTape().edit("src/deep/a.go", "+x"), with: only},
		{name: "outside", tape: newTape().edit("cmd/main.go", "+x"), with: only, want: []string{"outside_paths"}},
		{name: "outside and undone", tape: newTape().edit("cmd/main.go", "+x", "-y").edit("cmd/main.go", "+y", "-x"), with: only},
		{name: "written by tools", tape: newTape().edit("go.sum", "+x").edit("out/build.log", "+x"), with: only},
		{name: "outside of what is proposed", tape: newTape().edit("cmd/main.go", "+x"), with: proposed, want: []string{"outside_paths"}},
		{name: "allowed by an event of its own", tape: newTape().claims("You may change `cmd/` as well.").edit("cmd/main.go", "+x"), with: only, want: []string{"outside_paths"}},
		{name: "a test that must not change", tape: newTape().edit("p_test.go", "+x"), with: noTests, want: []string{"constraint"}},
		{name: "no test", tape: newTape().edit("p.go", "+x"), with: noTests},
		{name: "a change that nobody wants", tape: newTape().edit("p.go", "+x"), with: nothing, want: []string{"constraint"}},
		{name: "a validator that tries the work", tape: newTape().edit("p.go", "+x"), with: func(s *supervise.Subject) { nothing(s); s.Mode = "validation" }},
		{name: "forbidden", tape: newTape().edit("tests/a.txt", "+x"), with: not, want: []string{"constraint"}},
		{name: "not forbidden", tape: newTape().edit("src/tests.go", "+x"), with: not},
		{name: "a forbidden command", tape: newTape().bash("cd x && git push origin HEAD --force", ""), with: only, want: []string{"constraint"}},
		{name: "a forbidden command behind a timeout", tape: newTape().bash("cd x && timeout 60 git push origin HEAD --force", ""), with: only, want: []string{"constraint"}},
		{name: "a forbidden command that omoi refused", tape: newTape().fails("git push --force", "Refused before it ran.").decided(event.AgentToolRefused), with: only},
		{name: "a forbidden command that a user allowed once", tape: newTape().allows().bash("git push --force", "done").decided(event.AgentToolAllowed), with: only},
		{name: "and again", tape: newTape().allows().bash("git push --force", "done").decided(event.AgentToolAllowed).bash("git push --force", "done"), with: only, want: []string{"constraint"}},
		{name: "its name in a text", tape: newTape().bash(`echo "git push --force is forbidden"`, ""), with: only},
		{name: "a harmless one", tape: newTape().bash("git push origin HEAD", ""), with: only},
		{name: "nothing is known", tape: newTape().edit("anywhere", "+x")},
	})
}

// accepts returns a function that gives a subject an accepted contract.
func accepts(c taskcontract.Contract) func(*supervise.Subject) {
	return func(s *supervise.Subject) { s.Contract.Accepted = c }
}

// A text of the task forbids nothing, and a finding says whether its ground is only proposed.
func TestContract_GroundOfAFinding(t *testing.T) {
	t.Parallel()
	s := newTape().edit("cmd/main.go", "+x").subject()
	s.Description = "Only change files under `src/`."
	require.Empty(t, found(s))
	s.Contract.Proposed.AllowedPaths = []string{"src/"}
	require.Contains(t, supervise.Rules(s, supervise.DefaultSettings()).Summary, "outside of what the proposed task contract allows (src/)")
	s.Contract = taskcontract.InForce{Accepted: s.Contract.Proposed}
	require.Contains(t, supervise.Rules(s, supervise.DefaultSettings()).Summary, "outside of what the task contract allows (src/)")
}

func TestWeakenedTests(t *testing.T) {
	t.Parallel()
	red := func() *tape { return newTape().fails("go test ./...", "--- FAIL: TestParse (0.00s)") }
	green := func(tp *tape) *tape { return tp.bash("go test -v ./...", "ok") }
	weak := []string{"tests_weakened"}
	hold(t, []judged{
		{name: "checks gone", tape: green(red().edit("p_test.go", "-\trequire.Equal(t, 1, n)")), want: weak},
		{name: "skipped", tape: green(red().edit("p_test.go", `+	t.Skip("later")`)), want: weak},
		{name: "another expectation", tape: green(red().edit("t/test_p.py", "-    assert n == 1", "+    assert n == 2")), want: weak},
		{name: "a golden file", tape: green(red().edit("testdata/parse.golden", "-1", "+2")), want: weak},
		{name: "a runner that skips", tape: green(red().edit("package.json", `-    "test": "jest"`, `+    "test": "jest || true"`)), want: weak},
		{name: "deleted", tape: green(red().edit("p_test.go", "-*", "-func TestParse(t *testing.T) {")), want: weak},
		{name: "deleted without a diff", tape: green(red().edit("p_test.go", "-*")), want: weak},
		{name: "deleted by the command line that runs the tests", want: weak, tape: red().
			use("Bash", map[string]any{"command": "git rm -q p_test.go && go test ./..."}).edit("p_test.go", "-*", "-func TestParse(t *testing.T) {").result("ok  \texample.org/p\t0.1s", false)},
		{name: "after code that did not help", want: weak, tape: green(red().edit("p.go", "+a").fails("go test ./...", "--- FAIL: TestParse (0.00s)").edit("p_test.go", "-\trequire.Equal(t, 1, n)"))},
		{name: "with code that is taken back", want: weak, tape: green(red().edit("p.go", "+a").edit("p.go", "-a").edit("p_test.go", "-\trequire.Equal(t, 1, n)"))},
		{name: "still red", tape: red().edit("p_test.go", "-\trequire.Equal(t, 1, n)").fails("go test ./...", "--- FAIL: TestOther (0.00s)")},
		{name: "with code", tape: green(red().edit("p_test.go", "-\trequire.Equal(t, 1, n)").edit("p.go", "+a"))},
		{name: "a dependency that was missing", tape: green(red().edit("package.json", `+    "left-pad": "^1.0.0"`))},
		{name: "red by its own code", tape: green(newTape().edit("p.go", "+a").fails("go test ./...", "--- FAIL: TestParse (0.00s)").edit("p_test.go", "-\trequire.Equal(t, 1, n)"))},
		{name: "other tests", tape: red().edit("p_test.go", "+func TestNew(t *testing.T) {").bash("go test -run TestNew ./p", "ok")},
		{name: "tests of its own", tape: green(newTape().edit("new_test.go", "+*", "+func TestNew(t *testing.T) {").fails("go test ./...", "--- FAIL: TestNew (0.00s)").edit("new_test.go", "+x"))},
		{name: "no test failed before", tape: green(newTape().edit("p_test.go", "-\trequire.Equal(t, 1, n)"))},
		{name: "put back", tape: green(red().edit("p_test.go", "-\trequire.Equal(t, 1, n)").edit("p_test.go", "+\trequire.Equal(t, 1, n)"))},
		{name: "flaky", tape: green(red())},
		{name: "earlier events not read", tape: green(red().edit("p_test.go", "+x")), with: func(s *supervise.Subject) { s.Seen.First = 9 }},
		{name: "as asked", tape: green(red().edit("p_test.go", `+	t.Skip("later")`)), with: func(s *supervise.Subject) {
			s.Contract.Accepted.TestsMayChange = new(true)
		}},
	})
}

func TestCost(t *testing.T) {
	t.Parallel()
	look := func(tp *tape, i int) { tp.read(fmt.Sprintf("f%d.go", i)).spend(0.2 * float64(i+1)) }
	hold(t, []judged{
		{name: "much without an edit", tape: newTape().times(21, look), want: []string{"cost"}},
		{name: "less", tape: newTape().times(14, look)},
		{name: "few dear calls", tape: newTape().times(10, func(tp *tape, i int) { tp.read(fmt.Sprintf("f%d.go", i)).spend(float64(i)) })},
		{name: "edits on the way", tape: newTape().times(40, func(tp *tape, i int) {
			look(tp, i)
			if i%10 == 9 {
				tp.edit("a.go", fmt.Sprintf("+%d", i))
			}
		})},
		{name: "to look around was asked for", tape: newTape().times(21, look), with: func(s *supervise.Subject) { s.Mode = "exploration" }},
		{
			name: "a small budget", want: []string{"cost"}, with: func(s *supervise.Subject) { s.BudgetUSD = 1.5 },
			tape: newTape().times(21, func(tp *tape, i int) { tp.read(fmt.Sprintf("f%d.go", i)).spend(0.05 * float64(i)) }),
		},
	})
}

func TestCost_OfFailedEnd(t *testing.T) {
	t.Parallel()
	bill := map[string]any{"error": "no more", "cost_usd": 2.5, "input_tokens": 10, "output_tokens": 5}
	for _, end := range []string{event.AgentError, event.AgentFailed, event.AgentCompleted} {
		s := newTape().spend(0.1).add(end, bill).subject()
		require.InDelta(t, 2.5, s.CostUSD, 1e-9, end)
		require.Equal(t, int64(30_000), s.Tokens, end)
		s = newTape().add(end, bill).subject()
		require.Equal(t, int64(15), s.Tokens, end)
	}
}

func TestRules_NeverHealthy(t *testing.T) {
	t.Parallel()
	a := supervise.Rules(newTape().read("a.go").edit("a.go", "+x").bash("go test ./...", "ok").subject(), supervise.DefaultSettings())
	require.Equal(t, supervise.Unknown, a.Verdict)
	require.Equal(t, supervise.ByNone, a.SpokenBy)
	require.Nil(t, a.AlignmentScore)
	require.Empty(t, a.Label())
	require.Contains(t, a.Summary, "events 1 to 6")
}

func TestRules_FindingNamesItsEvents(t *testing.T) {
	t.Parallel()
	s := newTape().times(5, func(tp *tape, _ int) { tp.bash("cat x", "y") }).subject()
	a := supervise.Rules(s, supervise.DefaultSettings())
	require.Equal(t, supervise.Steer, a.Verdict)
	require.Equal(t, supervise.ByRules, a.SpokenBy)
	require.Equal(t, supervise.LabelLoop, a.Label())
	require.InDelta(t, 1-a.Confidence, *a.AlignmentScore, 1e-9)
	require.NotEmpty(t, a.Evidence)
	for _, n := range a.Evidence {
		require.True(t, n >= 1 && n <= s.Seen.Last, n)
	}
	require.Equal(t, supervise.Guidance, a.SteeringType)
	require.NotEmpty(t, a.Recommendation)
}

func TestRules_SameRangeSameAnalysis(t *testing.T) {
	t.Parallel()
	tp := newTape().times(6, func(tp *tape, i int) {
		tp.edit("a.go", fmt.Sprintf("+%d", i)).fails("go test ./...", "--- FAIL: TestX")
	})
	s := tp.subject()
	first := supervise.Rules(s, supervise.DefaultSettings())
	for i, j := 0, len(tp.rows)-1; i < j; i, j = i+1, j-1 { // reversed order
		tp.rows[i], tp.rows[j] = tp.rows[j], tp.rows[i]
	}
	require.Equal(t, first, supervise.Rules(tp.subject(), supervise.DefaultSettings()))
}
