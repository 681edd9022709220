package api_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/feedback"
)

// FuzzWebhook posts signed webhooks. Each gets a response; stored feedback is bounded text of a user who may steer, and
// a duplicate adds nothing.
func FuzzWebhook(f *testing.F) {
	events := []string{
		"check_run", "check_suite", "workflow_run", "status", "pull_request_review", "pull_request_review_comment",
		"issue_comment", "pull_request", "ping", "push",
	}
	for n, event := range events[:8] {
		f.Add(example(f, event, blank{State: "failure"}), byte(n))
		f.Add(example(f, event, blank{Body: `\u0000\ud800\n> omoi: no`, Login: "\u202e[bot]"}), byte(n))
	}
	for _, body := range []string{``, `null`, `[]`, `{}`, `{"action":7}`, `{"action":"created","comment":null,"issue":{"pull_request":{}}}`, `{"action":"completed","check_run":{"conclusion":"failure","head_sha":"é","pull_requests":[{}]}}`} {
		f.Add([]byte(body), byte(0))
		f.Add([]byte(body), byte(6))
	}
	h := takesHooks(f)
	f.Fuzz(func(t *testing.T, body []byte, how byte) {
		h.t = t
		event := events[int(how)%len(events)]
		before := len(h.story().Items)
		got := h.send(event, body)
		if got.status != http.StatusOK && got.status != http.StatusAccepted {
			require.Contains(t, []int{400, 413, 422}, got.status, "%s", got.body)
			got.refused(got.status, "")
			require.Len(t, h.story().Items, before)
			return
		}
		var noted feedback.Noted
		require.NoError(t, json.Unmarshal(got.body, &noted))
		items := h.story().Items
		if noted.State != feedback.StatePending {
			require.Len(t, items, before)
			return
		}
		require.Len(t, items, before+1)
		require.True(t, slices.ContainsFunc(items,
			func(i feedback.Item) bool { return utf8.RuneCountInString(i.Note) <= feedback.MaxNote+10 }))
		require.Zero(t,
			h.count(`SELECT count(*) FROM feedback WHERE length(said) > 4100 OR length(note) > 310 OR length(url) > 310`))
		require.Equal(t, feedback.StateRepeated, ok[feedback.Noted](h.send(event, body), http.StatusOK).State)
		h.exec(`DELETE FROM feedback`)
	})
}
