package notice_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/notice"
)

const secret = "a secret of the receiver"

// post is a received request.
type post struct {
	header http.Header
	body   string
}

// receiver responds with the next of its status codes, and repeats the last one.
type receiver struct {
	url string

	mu    sync.Mutex
	codes []int
	posts []post
}

func newReceiver(t *testing.T, codes ...int) *receiver {
	t.Helper()
	r := &receiver{codes: codes}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.url = server.URL + "/hook?token=in-the-address"
	return r
}

// ServeHTTP implements [http.Handler].
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.posts = append(r.posts, post{req.Header, string(body)})
	code := r.codes[0]
	if len(r.codes) > 1 {
		r.codes = r.codes[1:]
	}
	w.Header().Set("Location", "/elsewhere")
	w.WriteHeader(code)
}

// box is a store in memory with one delivery and one rule.
type box struct {
	notice.Store

	due  []notice.Due
	rule notice.Rule
	last notice.Outcome
}

func (b *box) TakeDeliveries(context.Context, notice.Taking) ([]notice.Due, error) {
	for i := range b.due {
		b.due[i].Tries++
	}
	return b.due, nil
}

func (b *box) SettleDelivery(_ context.Context, o notice.Outcome) error {
	b.last = o
	return nil
}

func (b *box) InsertNoticeRule(_ context.Context, r notice.Rule, sealed string) (notice.Rule, error) {
	r.Sealed = sealed
	b.rule = r
	return r, nil
}

// service returns a service whose rules reach private addresses if private is set.
func service(t *testing.T, store notice.Store, to string, private bool) *notice.Service {
	t.Helper()
	ring, err := credential.ParseRing(credential.NewKey())
	require.NoError(t, err)
	client := func(req *http.Request) (*http.Client, error) { return credential.Client(req, private) }
	return notice.New(notice.Config{
		Interval: time.Millisecond, PageURL: func() string { return "https://omoi.example" }, Client: client,
		Diagnoses: notice.Webhook{URL: to, Secret: secret, Client: client},
	}, notice.Deps{Store: store, Ring: ring, Log: slog.New(slog.DiscardHandler)})
}

func TestDiagnosis_IsSignedAndRepeatedUntilAccepted(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, http.StatusInternalServerError, http.StatusFound, http.StatusNoContent)
	b := &box{due: []notice.Due{{ID: "d1", Body: `{"id":"d1"}`}}}
	s := service(t, b, r.url, true)
	require.NoError(t, s.Send(t.Context()))
	require.Equal(t, []any{explain.DeliveryPending, "the receiver answered 500", 10 * time.Second}, []any{b.last.State, b.last.Error, b.last.Pause})
	require.NoError(t, s.Send(t.Context()))
	require.Equal(t, []any{"the receiver answered 302", 20 * time.Second}, []any{b.last.Error, b.last.Pause}, "redirects are not followed")
	require.NoError(t, s.Send(t.Context()))
	require.Equal(t, []any{explain.DeliveryDelivered, ""}, []any{b.last.State, b.last.Error})
	require.Len(t, r.posts, 3)
	for _, p := range r.posts {
		requireSigned(t, p)
		require.Equal(t, []string{"d1", "diagnosis"}, []string{p.header.Get("X-Omoi-Delivery"), p.header.Get("X-Omoi-Event")})
	}
}

func requireSigned(t *testing.T, p post) {
	t.Helper()
	at := p.header.Get("X-Omoi-Timestamp")
	require.Equal(t, notice.Sign(secret, at, p.body), p.header.Get("X-Omoi-Signature-256"))
	seconds, err := strconv.ParseInt(at, 10, 64)
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), time.Unix(seconds, 0), time.Hour)
}

// The signature is part of the public API.
func TestSign_IsTheDocumentedOne(t *testing.T) {
	t.Parallel()
	// printf '%s' '1700000000.{"a":1}' | openssl dgst -sha256 -hmac 'a secret of the receiver'
	require.Equal(t, "sha256=719d43160dd8091f1cdca2473a26871d7f4f701b9c72dd2391c6e537c2ec685b", notice.Sign(secret, "1700000000", `{"a":1}`))
	require.NotEqual(t, notice.Sign(secret, "1700000001", `{"a":1}`), notice.Sign(secret, "1700000000", `{"a":1}`))
}

func TestSend_RefusesAddressesThatAreNotPublic(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, http.StatusOK)
	b := &box{due: []notice.Due{{ID: "d1", Body: `{}`, Age: 4 * 24 * time.Hour}}}
	require.NoError(t, service(t, b, r.url, false).Send(t.Context()))
	require.Empty(t, r.posts)
	require.Equal(t, explain.DeliveryFailed, b.last.State, "a delivery is retried for three days")
	require.Contains(t, b.last.Error, "the address is not public")
	require.NotContains(t, b.last.Error, "in-the-address", "an address may hold a secret")
}

// The guard checks the address of the connection, so a name that resolves to a private address is refused too.
func TestTest_RefusesNamesOfPrivateAddresses(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, http.StatusOK)
	u, err := url.Parse(r.url)
	require.NoError(t, err)
	s := service(t, &box{}, "", false)
	for _, host := range []string{"localhost", "127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "169.254.169.254", "10.0.0.1"} {
		rule := create(t, s, notice.ChannelSlack, notice.Address{URL: "http://" + host + ":" + u.Port() + "/T0/secret"})
		result, err := s.Test(t.Context(), rule)
		require.NoError(t, err)
		require.Equal(t, "failed", result.State, host)
		require.Contains(t, result.Error, "not public", host)
		require.NotContains(t, result.Error, "T0/secret")
	}
	require.Empty(t, r.posts)
}

func create(t *testing.T, s *notice.Service, channel string, to notice.Address) notice.Rule {
	t.Helper()
	rule, err := s.Create(t.Context(), notice.NewRule{Rule: notice.Rule{Channel: channel, OrganizationID: "org"}, Address: to})
	require.NoError(t, err)
	require.NotContains(t, rule.Receiver, "secret")
	require.NotContains(t, rule.Sealed, "secret")
	return rule
}

// facts are those of a failed task whose texts have a credential and the markup of channels.
func facts(t *testing.T) string {
	t.Helper()
	raw, err := json.Marshal(map[string]any{
		"task_id": "01a2", "key": "APP-12", "title": "Fix <!channel> ö", "status": "failed", "class": "agent_error", "attempt": 2,
		"error": "push failed for ghp_0123456789abcdefghijABCDEFGHIJ012345", "at": time.Now(),
	})
	require.NoError(t, err)
	return string(raw)
}

// sent sends the notice of a failed task by a channel.
func sent(t *testing.T, channel, token string) post {
	t.Helper()
	r := newReceiver(t, http.StatusOK)
	b := &box{}
	s := service(t, b, "", true)
	rule := create(t, s, channel, notice.Address{URL: r.url, Secret: token})
	b.due = []notice.Due{{ID: "d1", Event: notice.Failed, Body: facts(t), RuleID: rule.ID, OrganizationID: "org", Channel: channel, Sealed: rule.Sealed}}
	require.NoError(t, s.Send(t.Context()))
	require.Equal(t, explain.DeliveryDelivered, b.last.State, b.last.Error)
	require.Len(t, r.posts, 1)
	require.NotContains(t, r.posts[0].body, "ghp_0123")
	require.Equal(t, "d1", r.posts[0].header.Get("X-Omoi-Delivery"))
	return r.posts[0]
}

func TestSend_ByWebhook(t *testing.T) {
	t.Parallel()
	p := sent(t, notice.ChannelWebhook, secret)
	requireSigned(t, p)
	require.Equal(t, "failed", p.header.Get("X-Omoi-Event"))
	var body struct {
		ID     string         `json:"id"`
		Event  string         `json:"event"`
		Notice notice.Message `json:"notice"`
	}
	require.NoError(t, json.Unmarshal([]byte(p.body), &body))
	require.Equal(t, []string{"d1", "failed"}, []string{body.ID, body.Event})
	require.Equal(t, "APP-12 failed: Fix <!channel> ö", body.Notice.Title)
	require.Equal(t, "https://omoi.example/tasks/01a2", body.Notice.URL)
	require.Equal(t, "omoi retry APP-12", body.Notice.Next)
	require.Equal(t, []any{"01a2", "APP-12"}, []any{body.Notice.TaskID, body.Notice.TaskKey})
}

func TestSend_ToSlack(t *testing.T) {
	t.Parallel()
	var body struct {
		Text string `json:"text"`
	}
	require.NoError(t, json.Unmarshal([]byte(sent(t, notice.ChannelSlack, "").body), &body))
	require.Contains(t, body.Text, "*APP-12 failed: Fix &lt;!channel&gt; ö*\n", "no mention of all users")
	require.Contains(t, body.Text, "<https://omoi.example/tasks/01a2|Open in omoi>")
}

func TestSend_ToNtfy(t *testing.T) {
	t.Parallel()
	p := sent(t, notice.ChannelNtfy, "tk_secret")
	require.Equal(t, []string{"=?utf-8?q?APP-12_failed:_Fix_<!channel>_=C3=B6?=", "https://omoi.example/tasks/01a2", "high", "Bearer tk_secret"},
		[]string{p.header.Get("Title"), p.header.Get("Click"), p.header.Get("Priority"), p.header.Get("Authorization")})
	require.Contains(t, p.body, "\nNext: omoi retry APP-12")
}

func TestMessage_NamesTheQuestionOfTheAgent(t *testing.T) {
	t.Parallel()
	f, err := notice.ParseFacts(`{"key": "APP-12", "status": "pending", "blocked": "question", "question": {"text": "` + strings.Repeat("Which? ", 500) +
		`", "options": ["PostgreSQL", "SQLite"]}}`)
	require.NoError(t, err)
	m := f.Message(notice.NeedsYou, "https://omoi.example")
	require.Equal(t, `omoi answer APP-12 "<answer>"`, m.Next)
	require.Contains(t, m.Text, "The agent asks: Which?")
	require.Contains(t, m.Text, "PostgreSQL; SQLite", "a long question leaves the proposed answers")
}

func TestCreate_RejectsInvalidRules(t *testing.T) {
	t.Parallel()
	s := service(t, &box{}, "", true)
	for _, c := range []notice.NewRule{
		{Rule: notice.Rule{Channel: "pager"}, Address: notice.Address{URL: "https://x.example/1"}},
		{Rule: notice.Rule{Channel: "slack"}, Address: notice.Address{URL: "ftp://x.example/1"}},
		{Rule: notice.Rule{Channel: "slack"}, Address: notice.Address{URL: "https://user:secret@x.example/1"}},
		{Rule: notice.Rule{Channel: "slack"}, Address: notice.Address{URL: "https://x.example/1", Secret: "unused"}},
		{Rule: notice.Rule{Channel: "webhook"}, Address: notice.Address{URL: "https://x.example/1", Secret: "short"}},
		{Rule: notice.Rule{Channel: "ntfy"}, Address: notice.Address{URL: "https://ntfy.example/"}},
		{Rule: notice.Rule{Channel: "ntfy"}, Address: notice.Address{URL: "https://ntfy.example/t", Secret: "a\nb"}},
		{Rule: notice.Rule{Channel: "slack", Events: []string{"paid"}}, Address: notice.Address{URL: "https://x.example/1"}},
	} {
		_, err := s.Create(t.Context(), c)
		require.Error(t, err, c)
		require.NotContains(t, err.Error(), "secret@")
	}
}

func TestDelivery_BacksOff(t *testing.T) {
	t.Parallel()
	require.Equal(t, 10*time.Second, notice.DeliveryPause(1))
	require.Equal(t, 20*time.Second, notice.DeliveryPause(2))
	require.Equal(t, time.Hour, notice.DeliveryPause(10))
	require.Equal(t, time.Hour, notice.DeliveryPause(1000))
}
