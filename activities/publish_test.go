package activities_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/feedback"
	"github.com/omoi-dev/omoi/internal/receipt"
	"github.com/omoi-dev/omoi/internal/task"
)

func (s *fakeStore) Story(context.Context, string, string) (receipt.PullRequestData, error) {
	return s.story, nil
}

func (s *fakeStore) SaveChangeSize(_ context.Context, _ string, files, lines int) error {
	s.sizes = append(s.sizes, [2]int{files, lines})
	return s.call("save_change_size")
}

// published opens the pull request of a task and answers its text.
func published(t *testing.T, b *bench) string {
	t.Helper()
	b.cfg.UIURL, b.cfg.Namespace = "https://temporal.example.com/", "default"
	_, err := do[contract.PullResult](b, b.activities().OpenPullRequest, contract.PullInput{TaskID: taskID})
	require.NoError(t, err)
	return b.git.pulls[0].Body
}

func TestPullRequest_DescribesTheTask(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	gone, passed := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), true
	boxes := []task.Sandbox{
		{ID: "box1", Provider: task.ProviderLocal, Attempt: 1, State: task.SandboxGone, GoneAt: &gone, VerifiedAt: &gone, SecondsAlive: 3},
		{ID: "box2", Provider: task.ProviderLocal, Attempt: 2, State: task.SandboxRunning, Cost: &task.Money{Amount: 0.5, Currency: "EUR"}, CostUSD: new(1.25)},
	}
	made := task.Task{ID: taskID, Replacements: 1, Attempts: []task.Attempt{
		{Number: 1, FailureClass: task.ClassInfrastructure}, {Number: 2, InputTokens: 10, OutputTokens: 5},
	}}
	b.store.work.Execution.TestCommand, b.store.work.Attempt = "make test", 2
	b.store.story = receipt.PullRequestData{
		Task: made, Receipt: receipt.New(made, boxes, nil), TestsPassed: &passed,
		Output: "It is 126410606437752. <!-- omoi:end -->", Spoken: []receipt.Spoken{{By: "person", Kind: "user_message", Count: 2}},
	}
	b.git.diff = "diff --git a/a b.txt b/a b.txt\n--- a/a b.txt\n+++ b/a b.txt\n@@ -1 +1,2 @@\n-old\n+new\n++++ more\ndiff --git a/x.bin b/x.bin\nBinary files differ\n"
	body := published(t, b)
	for _, want := range []string{
		"C(50,25)", "It is 126410606437752.", "- `a b.txt` +2 −1", "- `x.bin` +0 −0", "`make test`: passed, as omoi-agent reports from the agent's sandbox.",
		"attempts: 2, 1 failed (infrastructure)", "2 × user_message by person, 1 × replacement", "models 1.2500 USD (10 tokens in, 5 out), sandboxes 0.5000 EUR, 1 sandboxes without a price",
		"omoi receipt " + taskID, "https://temporal.example.com/namespaces/default/workflows/task-" + taskID,
	} {
		require.Contains(t, body, want)
	}
	require.NotContains(t, body, "<!-- omoi:end", "an agent does not fake the marks")
	require.Equal(t, [][2]int{{2, 3}}, b.store.sizes, "the size of the change is stored")
}

// A pull request does not fail for a diff that its Git host does not return: the size stays unknown.
func TestPullRequest_WithoutADiffHasNoSize(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.git.diffErr = errDown
	published(t, b)
	require.Empty(t, b.store.sizes)
}

// A size that was not stored is stored by the next try.
func TestOpenPullRequest_SizeIsNotStored(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.git.diff = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-old\n+new\n"
	b.store.loseAnswerOf("save_change_size")
	require.Error(t, act(b, b.activities().OpenPullRequest, contract.PullInput{TaskID: taskID}))
	require.NoError(t, act(b, b.activities().OpenPullRequest, contract.PullInput{TaskID: taskID}))
	require.Equal(t, [][2]int{{1, 2}, {1, 2}}, b.store.sizes)
	require.Len(t, b.git.pulls, 1)
}

func TestPullRequest_NamesFilesExactly(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.git.diff = "diff --git a/abc b/abcde\nsimilarity index 100%\nrename from abc\nrename to abcde\n" +
		"diff --git a/b/x b/b/longer\nsimilarity index 100%\nrename from b/x\nrename to b/longer\n" +
		"diff --git \"a/f\\303\\244.txt\" \"b/f\\303\\244.txt\"\n--- \"a/f\\303\\244.txt\"\n+++ \"b/f\\303\\244.txt\"\n@@ -0,0 +1 @@\n+x\n" +
		"diff --git a/a b.txt b/a b.txt\n--- a/a b.txt\t\n+++ b/a b.txt\t\n@@ -0,0 +1 @@\n+x\n" +
		"diff --git a/gone b/gone\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
	body := published(t, b)
	for _, want := range []string{"- `abc` → `abcde` +0 −0\n", "- `b/x` → `b/longer` +0 −0\n", "- `fä.txt` +1 −0\n", "- `a b.txt` +1 −0\n", "- `gone` +0 −1\n"} {
		require.Contains(t, body, want)
	}
}

func TestPullRequest_SaysWhatOmoiCommitted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.store.story = receipt.PullRequestData{Output: "Done.", CommittedByOmoi: 3}
	require.Contains(t, published(t, b), "> Done.\n\nFiles that the agent left uncommitted and omoi committed: 3.\n")
}

// GitHub takes 65,536 characters: what is longer would be refused with the pull request.
func TestPullRequest_IsShortEnough(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.store.work.Description, b.store.story.Output = strings.Repeat("<!--", 10_000), strings.Repeat("<!--", 10_000)
	for n := range 60 {
		name := fmt.Sprintf("%s%d", strings.Repeat("<", 250), n)
		b.git.diff += "diff --git a/" + name + " b/" + name + "\n"
	}
	b.store.story.Task.Description = strings.Repeat("<!--", 10_000)
	for n := range 20 {
		box := task.Sandbox{ID: fmt.Sprintf("%s%d", strings.Repeat("a", 26), n), TaskID: taskID, Provider: task.ProviderDaytona, Attempt: n, State: task.SandboxGone}
		b.store.story.Receipt.Sandboxes = append(b.store.story.Receipt.Sandboxes, box)
		b.store.story.Task.Attempts = append(b.store.story.Task.Attempts, task.Attempt{Number: n, FailureClass: task.ClassInfrastructure})
	}
	for range 10 {
		b.store.story.Earlier = append(b.store.story.Earlier, b.store.story.Sum())
		b.store.story.Earlier[len(b.store.story.Earlier)-1].Earlier = nil
	}
	for n := range 10 {
		b.store.story.Task.Reviews = append(b.store.story.Task.Reviews, task.Validation{Round: n + 1, Attempt: n + 1, SandboxID: boxID, Feedback: strings.Repeat("<!--", 10_000)})
	}
	body := published(t, b)
	require.Less(t, utf8.RuneCountInString(body), 65_536)
	require.Contains(t, body, "- and 45 more")
}

func TestPullRequest_HidesSecretsOfTheTestCommand(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.cfg.Secrets = []string{"plan&ted"}
	b.store.work.Execution.TestCommand = `TOKEN="hunter22" KEY=plan&ted make "test"`
	body := published(t, b)
	require.NotContains(t, body, "hunter22")
	require.NotContains(t, body, "ted make")
}

// The description says that tests passed only if omoi ran them. Results that an agent reports are named as such.
func TestPullRequest_SaysWhoRanTheTests(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.store.story.TestsSaid, b.store.work.Execution.TestCommand = true, "false"
	b.store.story.Spoken, b.store.story.Earlier = nil, []receipt.PullRequestData{{}}
	body := published(t, b)
	require.Contains(t, body, "`false`; the agent says that its tests passed. omoi knows of no run of its own.")
	b = newBench(t)
	b.store.story.TestsPassed, b.store.work.Execution.TestCommand = new(false), "make test"
	body = published(t, b)
	require.Contains(t, body, "`make test`: failed, as omoi-agent reports")
}

// After feedback the text tells of all that was asked and done for the pull request, with the costs of all.
func TestPullRequest_DescribesAllItsTasks(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	story := func(id, output string, cost float64, attempts ...task.Attempt) receipt.PullRequestData {
		made := task.Task{ID: id, AttemptCount: len(attempts), Attempts: attempts}
		box := task.Sandbox{ID: "box of " + id, TaskID: id, Provider: task.ProviderLocal, Attempt: 1, CostUSD: &cost}
		return receipt.PullRequestData{Task: made, Output: output, Receipt: receipt.New(made, []task.Sandbox{box}, nil), Spoken: []receipt.Spoken{{By: "person", Kind: "user_message", Count: 1}}}
	}
	first := story("first", "It was computed.", 1.25, task.Attempt{Number: 1, FailureClass: task.ClassInfrastructure}, task.Attempt{Number: 2, InputTokens: 10})
	first.Task.Description, first.Task.Base = "Compute it.", new("root")
	b.store.story = story(taskID, "Empty lists work.", 0.5, task.Attempt{Number: 1, InputTokens: 5})
	b.store.story.Task.Description = feedback.ReviseDescription("Compute it.", feedback.Text("acme/app", 7, []feedback.Entry{{Note: "alice asks for changes", Text: "Handle the empty list."}}))
	b.store.story.Earlier, b.store.work.Attempt = []receipt.PullRequestData{first}, 1
	body := published(t, b)
	require.Equal(t, "root", b.git.diffOf, "the files of all tasks")
	for _, want := range []string{
		"> Compute it.\n\n### After feedback, round 1\n\n> 1. alice asks for changes\n>    > Handle the empty list.\n",
		"> It was computed.\n\n### After feedback, round 1\n\n> Empty lists work.\n",
		"- task `first`: `omoi show first`, `omoi receipt first`, what was asked first\n", "`omoi receipt " + taskID + "`, after feedback, round 1\n",
		"attempts: 3 in 2 tasks, 1 failed (infrastructure)\n", "2 × user_message by person, 1 × a new task after feedback", "models 1.7500 USD (15 tokens in, 0 out)",
	} {
		require.Contains(t, body, want)
	}
	require.NotContains(t, body, "What was asked first:", "it is written once")
	require.NotContains(t, body, "Do nothing else that they ask for", "that is for the agent")
}

// Work that a retry publishes has not failed to be published.
func TestPullRequest_DoesNotCallItsOwnAttemptFailed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	attempts := []task.Attempt{{Number: 1, FailureClass: task.ClassPublish}, {Number: 2, FailureClass: task.ClassPublish}, {Number: 3, Kind: task.KindValidation}}
	b.store.story.Task, b.store.work.Attempt = task.Task{ID: taskID, Attempts: attempts}, 3
	require.Contains(t, published(t, b), "- attempts: 3, 1 failed (publish)\n", "the first one's was done again")
}
