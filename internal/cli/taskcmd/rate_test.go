package taskcmd_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/guardian"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestRate(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks = []client.Task{{ID: idA, Status: task.StatusRunning}}
	f.steps = []client.Intervention{{ID: idB, TaskID: idA, Level: guardian.LevelNudge, State: "sent"}}
	f.analyses = []client.GuardianAnalysis{analysis(idC, 1, 30, "loop", client.Rating{Rule: "loop", Rating: "right"})}
	require.Contains(t, f.omoi("guardian", "interventions").out, "omoi guardian rate <intervention> right")
	require.Equal(t, exit.Usage, f.omoi("guardian", "rate", idB, "perhaps").code)
	require.Equal(t, exit.Usage, f.omoi("guardian", "rate", idB).code)
	got := f.omoi("guardian", "rate", idB[len(idB)-6:], "wrong", "--reason", "It waited.")
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.out, "as wrong.")
	require.Zero(t, f.omoi("guardian", "rate", idC, "right", "--rule", "loop").code)
	require.Equal(t, []string{"rate " + idB + " wrong It waited.", "rate " + idC + " loop right "}, f.asked)
	f.steps[0].Rating = &client.Rating{Rating: "wrong"}
	shown := f.omoi("guardian", "interventions")
	require.Regexp(t, `nudge +sent +wrong`, shown.out)
	require.NotContains(t, shown.out, "omoi guardian rate")
	require.Contains(t, f.omoi("guardian", "analyses", "-").out, "loop (right)")
}

// analysis returns an analysis with a finding that called for steering.
func analysis(id string, attempt int, last int64, rule string, ratings ...client.Rating) client.GuardianAnalysis {
	said := `{"findings": [{"rule": "` + rule + `", "label": "` + map[string]string{"loop": "loop", "outside_paths": "drift"}[rule] + `", "why": "because", "confidence": 0.9}]}`
	return client.GuardianAnalysis{ID: id, Attempt: attempt, LastSeen: last, NeedsSteering: true, Verdict: "steer", Analysis: json.RawMessage(said), Ratings: ratings}
}

func TestCorpusAdd_TakesTheLabelOfTheRatings(t *testing.T) {
	t.Parallel()
	loop := func(rating string) client.Rating {
		return client.Rating{Rule: "loop", Rating: rating, Reason: "It " + rating}
	}
	drift := func(rating string) client.Rating { return client.Rating{Rule: "outside_paths", Rating: rating} }
	for name, c := range map[string]struct {
		newestFirst  []client.GuardianAnalysis
		label, says  string
		events, code int
	}{
		"right":                    {[]client.GuardianAnalysis{analysis(idC, 1, 8, "outside_paths", drift("right")), analysis(idB, 1, 4, "loop", loop("wrong"))}, "drift", "rated the finding outside_paths as right: because", 8, 0},
		"wrong":                    {[]client.GuardianAnalysis{analysis(idB, 1, 6, "loop", loop("wrong"))}, "healthy", "It wrong", 6, 0},
		"the intervention":         {[]client.GuardianAnalysis{analysis(idB, 1, 6, "loop", client.Rating{Rating: "right"})}, "loop", "rated the finding loop as right", 6, 0},
		"until an unrated finding": {[]client.GuardianAnalysis{analysis(idC, 1, 8, "loop"), analysis(idB, 1, 4, "loop", loop("wrong"))}, "healthy", "It wrong", 4, 0},
		"unrated before":           {[]client.GuardianAnalysis{analysis(idC, 1, 8, "loop", loop("wrong")), analysis(idB, 1, 4, "outside_paths")}, "", "decide no label", 0, exit.Usage},
		"none":                     {nil, "", "decide no label", 0, exit.Usage},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.tasks, f.analyses, f.done = []client.Task{{ID: idA, Title: "Loop", Agent: "scripted", Status: task.StatusRunning}}, c.newestFirst, true
			for n := range 10 {
				f.events = append(f.events, client.Event{Sequence: int64(n + 1), Attempt: 1, SandboxID: "box", Type: event.AgentToolUse, Data: json.RawMessage(`{"tool":"Bash"}`), CreatedAt: time.Unix(int64(n), 0)})
			}
			dir := t.TempDir()
			got := f.omoi("guardian", "corpus", "add", idA, "--dir", dir, "--name", "rated-one")
			require.Equal(t, c.code, got.code, got.err)
			if c.code != 0 {
				require.Contains(t, got.err, c.says)
				return
			}
			raw, err := os.ReadFile(filepath.Join(dir, "rated-one.jsonl"))
			require.NoError(t, err)
			require.Contains(t, string(raw), `"label":"`+c.label+`"`)
			require.Contains(t, string(raw), c.says)
			require.Equal(t, c.events, strings.Count(string(raw), "\n")-1)
		})
	}
}
