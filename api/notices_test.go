package api_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/notice"
	"github.com/omoi-dev/omoi/internal/task"
)

const noticeRules = "/api/v1/notice-rules"

// noticer returns the notice service, with an encryption key of its own. Private addresses are allowed.
func (w *world) noticer() api.NoticeRules {
	w.t.Helper()
	ring, err := credential.ParseRing(credential.NewKey())
	require.NoError(w.t, err)
	return notice.New(notice.Config{
		PageURL: func() string { return "http://omoi.example" },
		Client:  func(req *http.Request) (*http.Client, error) { return credential.Client(req, true) },
	}, notice.Deps{Store: w.store, Ring: ring, Log: slog.New(slog.DiscardHandler)})
}

func TestNoticeRules_UsersChangeTheirOwn(t *testing.T) {
	t.Parallel()
	w := closed(t)
	alice, bob, admin := w.keyOf(w.org, "alice", "write"), w.keyOf(w.org, "bob", "write"), w.keyOf(w.org, "carol", "admin")
	create := func(key string, in client.CreateNoticeRuleRequest) answer {
		in.Channel, in.Address = "slack", "https://hooks.example/T0/planted"
		return w.call(http.MethodPost, noticeRules, in, authorization, key)
	}
	hers := ok[client.NoticeRule](create(alice, client.CreateNoticeRuleRequest{}), http.StatusCreated)
	require.Equal(t, []any{"user", "https://hooks.example/...", []string{"needs_you", "done", "failed"}, true}, []any{hers.Scope, hers.Receiver, hers.Events, hers.Enabled})
	require.Equal(t, http.StatusForbidden, create(bob, client.CreateNoticeRuleRequest{Scope: "organization"}).status)
	require.Equal(t, http.StatusForbidden, create(bob, client.CreateNoticeRuleRequest{Events: []string{"alert"}}).status)
	all := ok[client.NoticeRule](create(admin, client.CreateNoticeRuleRequest{Scope: "organization", Events: []string{"failed"}}), http.StatusCreated)
	ids := func(key string) (found []string) {
		listed := w.call(http.MethodGet, noticeRules, nil, authorization, key)
		require.NotContains(t, string(listed.body), "planted")
		for _, r := range ok[client.Page[client.NoticeRule]](listed, http.StatusOK).Items {
			found = append(found, r.ID)
		}
		return found
	}
	require.Equal(t, []string{all.ID, hers.ID}, ids(alice))
	require.Equal(t, []string{all.ID}, ids(bob))
	for _, c := range []struct {
		key, id string
		want    int
	}{
		{bob, hers.ID, http.StatusNotFound},
		{alice, all.ID, http.StatusForbidden},
		{alice, task.NewID(), http.StatusNotFound},
		{alice, hers.ID, http.StatusOK},
		{admin, all.ID, http.StatusOK},
	} {
		got := w.call(http.MethodPatch, noticeRules+"/"+c.id, client.UpdateNoticeRuleRequest{Enabled: new(false)}, authorization, c.key)
		require.Equal(t, c.want, got.status, string(got.body))
		require.NotContains(t, string(got.body), "planted")
	}
	require.Equal(t, http.StatusNotFound, w.call(http.MethodDelete, noticeRules+"/"+hers.ID, nil, authorization, bob).status)
	require.Equal(t, http.StatusNoContent, w.call(http.MethodDelete, noticeRules+"/"+hers.ID, nil, authorization, alice).status)
	require.Equal(t, []string{all.ID}, ids(alice))
}

func TestNoticeRules_Test(t *testing.T) {
	t.Parallel()
	w := openAsUser(t)
	code, body := http.StatusOK, ""
	receiver := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		body = string(raw)
		rw.WriteHeader(code)
	}))
	t.Cleanup(receiver.Close)
	rule := ok[client.NoticeRule](w.call(http.MethodPost, noticeRules, client.CreateNoticeRuleRequest{Channel: "ntfy", Address: receiver.URL + "/topic"}), http.StatusCreated)
	test := func() client.NoticeTest {
		return ok[client.NoticeTest](w.call(http.MethodPost, noticeRules+"/"+rule.ID+"/test", nil), http.StatusOK)
	}
	require.Equal(t, "delivered", test().State)
	require.Contains(t, body, "omoi notice list")
	code = http.StatusTeapot
	require.Equal(t, client.NoticeTest{State: "failed", Error: "the receiver answered 418"}, test())
}

// A task that ends makes one notice, which the API shows with its delivery.
func TestNotices_OfATask(t *testing.T) {
	t.Parallel()
	w := openAsUser(t)
	rule := ok[client.NoticeRule](w.call(http.MethodPost, noticeRules, client.CreateNoticeRuleRequest{
		Channel: "slack", Address: "https://hooks.example/T0/planted", Scope: "organization", Events: []string{"failed", "started"},
	}), http.StatusCreated)
	made := w.task(newTask())
	w.begin(made)
	w.end(made, task.StatusFailed)
	listed := w.call(http.MethodGet, "/api/v1/notices?rule_id="+rule.ID+"&task_id="+made.Key, nil)
	require.NotContains(t, string(listed.body), "planted")
	items := ok[client.Page[client.Notice]](listed, http.StatusOK).Items
	require.NotEmpty(t, items)
	require.Equal(t, []any{rule.ID, made.ID, made.Key, "failed", "pending"}, []any{items[0].RuleID, items[0].TaskID, items[0].TaskKey, items[0].Event, items[0].Delivery.State})
}
