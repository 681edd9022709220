package diagnosis_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/diagnosis"
	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/supervise"
)

const secret = "a secret of the receiver"

// post is a received webhook.
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

// box is a store in memory with one webhook.
type box struct {
	due   []diagnosis.DueDelivery
	state string
	said  string
	pause time.Duration
}

func (b *box) TakeDeliveries(context.Context, time.Duration, int) ([]diagnosis.DueDelivery, error) {
	for i := range b.due {
		b.due[i].Tries++
	}
	return b.due, nil
}

func (b *box) SettleDelivery(_ context.Context, _, state, problem string, pause time.Duration) error {
	b.state, b.said, b.pause = state, problem, pause
	return nil
}

func (*box) LeaseDiagnosisRequests(context.Context, time.Duration, int) ([]diagnosis.Request, error) {
	return nil, nil
}

func (*box) SettleDiagnosisRequest(context.Context, diagnosis.Request) error { return nil }

func (*box) Case(context.Context, string, int) (supervise.DiagnosisInput, error) {
	return supervise.DiagnosisInput{}, nil
}
func (*box) TellNotices(context.Context, int) ([]string, error) { return nil, nil }
func (*box) TicketEnds(context.Context, string) (supervise.TicketEnds, error) {
	return supervise.TicketEnds{}, nil
}

func (*box) SaveDiagnoses(context.Context, diagnosis.Request, []diagnosis.KeptDiagnosis) ([]string, error) {
	return nil, nil
}

func sender(store diagnosis.Store, url string, private bool) *diagnosis.Service {
	return diagnosis.New(diagnosis.Config{
		Enabled: true, Failures: 3, Newest: 100, Interval: time.Millisecond, Rules: supervise.DefaultSettings(),
		Webhook: diagnosis.Webhook{URL: url, Secret: secret, Client: func(req *http.Request) (*http.Client, error) {
			return credential.Client(req, private)
		}},
	}, diagnosis.Deps{Store: store, Log: slog.New(slog.DiscardHandler)})
}

func TestAWebhookIsSignedAndRepeatedUntilItIsTaken(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, http.StatusInternalServerError, http.StatusFound, http.StatusNoContent)
	b := &box{due: []diagnosis.DueDelivery{{ID: "d1", Body: `{"id":"d1"}`}}}
	s := sender(b, r.url, true)
	require.NoError(t, s.Send(t.Context()))
	require.Equal(t, []any{explain.DeliveryPending, "the receiver answered 500", 10 * time.Second}, []any{b.state, b.said, b.pause})
	require.NoError(t, s.Send(t.Context()))
	require.Equal(t, []any{"the receiver answered 302", 20 * time.Second}, []any{b.said, b.pause}, "nobody is followed")
	require.NoError(t, s.Send(t.Context()))
	require.Equal(t, []any{explain.DeliveryDelivered, ""}, []any{b.state, b.said})
	require.Len(t, r.posts, 3)
	for _, p := range r.posts {
		at := p.header.Get("X-Omoi-Timestamp")
		require.Equal(t, diagnosis.Sign(secret, at, `{"id":"d1"}`), p.header.Get("X-Omoi-Signature-256"))
		require.Equal(t, []string{"d1", "diagnosis"}, []string{p.header.Get("X-Omoi-Delivery"), p.header.Get("X-Omoi-Event")})
		seconds, err := strconv.ParseInt(at, 10, 64)
		require.NoError(t, err)
		require.WithinDuration(t, time.Now(), time.Unix(seconds, 0), time.Hour)
	}
}

// The signature is part of the public API.
func TestTheSignatureIsTheDocumentedOne(t *testing.T) {
	t.Parallel()
	// printf '%s' '1700000000.{"a":1}' | openssl dgst -sha256 -hmac 'a secret of the receiver'
	require.Equal(t, "sha256=719d43160dd8091f1cdca2473a26871d7f4f701b9c72dd2391c6e537c2ec685b", diagnosis.Sign(secret, "1700000000", `{"a":1}`))
	require.NotEqual(t, diagnosis.Sign(secret, "1700000001", `{"a":1}`), diagnosis.Sign(secret, "1700000000", `{"a":1}`))
}

func TestAddressesThatAreNotPublicAreRefused(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, http.StatusOK)
	b := &box{due: []diagnosis.DueDelivery{{ID: "d1", Body: `{}`, Age: 4 * 24 * time.Hour}}}
	require.NoError(t, sender(b, r.url, false).Send(t.Context()))
	require.Empty(t, r.posts)
	require.Equal(t, explain.DeliveryFailed, b.state, "after three days nobody tries on")
	require.Contains(t, b.said, "the address is not public")
	require.NotContains(t, b.said, "in-the-address", "an address may hold a secret")
}
