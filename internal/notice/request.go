package notice

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Headers of a signed request.
const (
	HeaderEvent     = "X-Omoi-Event"
	HeaderDelivery  = "X-Omoi-Delivery"
	HeaderTimestamp = "X-Omoi-Timestamp" // seconds since 1970
	HeaderSignature = "X-Omoi-Signature-256"
)

// requestTimeout is the time within which a receiver has to answer.
const requestTimeout = 10 * time.Second

// Sign returns the signature of a body that is sent at a time: sha256= and, in hex, HMAC-SHA256 over the timestamp, a
// full stop, and the body.
func Sign(secret, timestamp, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "." + body))
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// outgoing is one notice or diagnosis on its way.
type outgoing struct {
	id, event string
	at        time.Time
	to        Address
	// client returns the HTTP client for one request. It may reject the address.
	client func(req *http.Request) (*http.Client, error)
	mail   Mail
}

// webhookBody is the body of a notice by webhook.
type webhookBody struct {
	ID        string    `json:"id"` // the same in every try
	Event     string    `json:"event"`
	CreatedAt time.Time `json:"created_at"`
	Notice    Message   `json:"notice"`
}

// send sends a message by a channel.
func (o outgoing) send(ctx context.Context, channel string, m Message) error {
	switch channel {
	case ChannelSlack:
		return o.post(ctx, jsonText(map[string]string{"text": slackText(m)}), nil)
	case ChannelNtfy:
		return o.post(ctx, m.Text+"\nNext: "+m.Next, o.ntfyHeaders(m))
	case ChannelEmail:
		return o.mail.send(ctx, o.to.URL, o.id, o.at, m)
	}
	return o.signed(ctx, jsonText(webhookBody{ID: o.id, Event: o.event, CreatedAt: o.at.UTC(), Notice: m}))
}

// signed sends a body with a signature.
func (o outgoing) signed(ctx context.Context, body string) error {
	at := strconv.FormatInt(time.Now().Unix(), 10)
	return o.post(ctx, body, map[string]string{HeaderEvent: o.event, HeaderTimestamp: at, HeaderSignature: Sign(o.to.Secret, at, body)})
}

// post sends a body. Its error does not contain the address, which may hold a secret.
func (o outgoing) post(ctx context.Context, body string, headers map[string]string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, o.to.URL, strings.NewReader(body))
	if err != nil {
		return errors.New("the address is not a valid URL")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "omoi")
	req.Header.Set(HeaderDelivery, o.id)
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	client, err := o.client(req)
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

// slackText returns a message in the markup of Slack, in which texts of tasks cannot make links or mention users.
func slackText(m Message) string {
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace
	return "*" + escape(m.Title) + "*\n" + escape(m.Text) + "\nNext: `" + escape(m.Next) + "`\n<" + m.URL + "|Open in omoi>"
}

func (o outgoing) ntfyHeaders(m Message) map[string]string {
	oneLine := strings.Join(strings.Fields(m.Title), " ")
	headers := map[string]string{"Content-Type": "text/plain; charset=utf-8", "Title": mime.QEncoding.Encode("utf-8", oneLine), "Click": m.URL}
	if o.event == NeedsYou || o.event == Failed {
		headers["Priority"] = "high"
	}
	if o.to.Secret != "" {
		headers["Authorization"] = "Bearer " + o.to.Secret
	}
	return headers
}

func jsonText(v any) string {
	raw, _ := json.Marshal(v) //nolint:errchkjson // texts and times of this package always encode
	return string(raw)
}
