package diagnosis

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/explain"
)

// Webhook is the receiver of diagnoses and the secret of their signature.
type Webhook struct {
	URL    string // empty: no webhooks
	Secret string
	// Client returns the HTTP client for one request. It may reject the address.
	Client func(req *http.Request) (*http.Client, error)
}

// Notice is the body of a webhook.
type Notice struct {
	ID        string            `json:"id"`    // the same in every try
	Event     string            `json:"event"` // diagnosis
	CreatedAt time.Time         `json:"created_at"`
	Diagnosis explain.Diagnosis `json:"diagnosis"`
}

// Headers of a webhook.
const (
	HeaderEvent     = "X-Omoi-Event"
	HeaderDelivery  = "X-Omoi-Delivery"
	HeaderTimestamp = "X-Omoi-Timestamp" // seconds since 1970
	HeaderSignature = "X-Omoi-Signature-256"

	eventDiagnosis = "diagnosis"
)

const (
	deliveryLease   = 2 * time.Minute
	deliveryTimeout = 10 * time.Second
	mostDeliveries  = 5
)

// Sign returns the signature of a body that is sent at a time: sha256= and, in hex, HMAC-SHA256 over the timestamp, a
// full stop, and the body.
func Sign(secret, timestamp, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "." + body))
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// Deliver sends due webhooks until ctx ends.
func (s *Service) Deliver(ctx context.Context) error {
	if s.cfg.Webhook.URL == "" {
		<-ctx.Done()
		return nil
	}
	return s.every(ctx, "send webhooks", s.Send)
}

// Send tries each due webhook once. A webhook that the receiver does not accept is due again after a growing pause.
func (s *Service) Send(ctx context.Context) error {
	due, err := s.deps.Store.TakeDeliveries(ctx, deliveryLease, mostDeliveries)
	errs := []error{err}
	for _, d := range due {
		problem := s.cfg.Webhook.send(ctx, d)
		if ctx.Err() != nil {
			break // another process retries after the lease
		}
		state, said := explain.DeliveryDelivered, ""
		if problem != nil {
			state, said = explain.DeliveryPending, problem.Error()
			s.deps.Log.WarnContext(ctx, "send webhook failed", slog.String("delivery_id", d.ID), slog.Int("attempts", d.Tries), slog.String("error", said))
			if d.Age > DeliveryWindow {
				state = explain.DeliveryFailed
			}
		}
		errs = append(errs, s.deps.Store.SettleDelivery(ctx, d.ID, state, said, DeliveryPause(d.Tries)))
	}
	return errors.Join(errs...)
}

// send sends a webhook. Its error does not contain the address, which may hold a secret.
func (w Webhook) send(ctx context.Context, d DueDelivery) error {
	ctx, cancel := context.WithTimeout(ctx, deliveryTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, strings.NewReader(d.Body))
	if err != nil {
		return errors.New("diagnostic.webhook_url is no address")
	}
	at := strconv.FormatInt(time.Now().Unix(), 10)
	for name, value := range map[string]string{
		"Content-Type": "application/json", "User-Agent": "omoi", HeaderEvent: eventDiagnosis, HeaderDelivery: d.ID,
		HeaderTimestamp: at, HeaderSignature: Sign(w.Secret, at, d.Body),
	} {
		req.Header.Set(name, value)
	}
	client, err := w.Client(req)
	if err != nil {
		return bare(err)
	}
	res, err := client.Do(req)
	if err != nil {
		return bare(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode < http.StatusOK || res.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("the receiver answered %d", res.StatusCode)
	}
	return nil
}

// bare returns the error of a request without its address.
func bare(err error) error {
	if problem, ok := errors.AsType[*url.Error](err); ok {
		err = problem.Err
	}
	return fmt.Errorf("the receiver was not reached: %w", err)
}

// DeliveryWindow is the maximum time for which a webhook is retried.
const DeliveryWindow = 72 * time.Hour

// DeliveryPause is the pause after the n-th failed try (from 1): ten seconds, doubled, at most an hour.
func DeliveryPause(n int) time.Duration {
	const first, doublings = 10 * time.Second, 9
	return min(first<<min(max(n-1, 0), doublings), time.Hour)
}
