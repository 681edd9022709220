package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	defaultURL  = "https://api.anthropic.com"
	apiVersion  = "2023-06-01"
	maxReply    = 8 << 20 // bytes
	firstDelay  = 500 * time.Millisecond
	longestWait = 8 * time.Second // between two requests, unless the endpoint names a time
)

// statusError is an answer of the endpoint that is not a reply. Its body may hold anything and is not kept.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("the model endpoint answered %d", int(e)) }

var errMalformed = errors.New("the answer of the model endpoint is not a message")

// send posts one request to the Messages API. It repeats a request that the endpoint cannot take now.
func (m *Model) send(ctx context.Context, r request) (*reply, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	for tried := 0; ; tried++ {
		answer, header, err := m.post(ctx, body)
		if err == nil || tried >= m.settings.Retries || !repeatable(err, header) {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(delay(header, tried)):
		}
	}
}

// post sends one request. The header is nil if no answer came.
func (m *Model) post(ctx context.Context, body []byte) (*reply, http.Header, error) {
	url := strings.TrimSuffix(m.settings.BaseURL, "/") + "/v1/messages"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Anthropic-Version", apiVersion)
	request.Header.Set("User-Agent", "omoi")
	if m.settings.APIKey != "" {
		request.Header.Set("X-Api-Key", m.settings.APIKey)
	} else {
		request.Header.Set("Authorization", "Bearer "+m.settings.AuthToken)
	}
	response, err := m.client.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, response.Header, statusError(response.StatusCode)
	}
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxReply))
	if err != nil {
		return nil, response.Header, err
	}
	answer := &reply{}
	if json.Unmarshal(raw, answer) != nil {
		return nil, response.Header, errMalformed
	}
	return answer, response.Header, nil
}

// repeatable reports whether the same request may get a reply later.
func repeatable(err error, header http.Header) bool {
	switch header.Get("X-Should-Retry") {
	case "true":
		return true
	case "false":
		return false
	}
	status, ok := err.(statusError) //nolint:errorlint // post does not wrap it
	switch {
	case !ok: // the connection broke, or the answer is unusable
		return !errors.Is(err, errMalformed)
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooManyRequests:
		return true
	}
	return status >= http.StatusInternalServerError
}

// delay returns the time that the endpoint asks for, else one that doubles with each try.
func delay(header http.Header, tried int) time.Duration {
	if ms, err := strconv.ParseFloat(header.Get("Retry-After-Ms"), 64); err == nil {
		return time.Duration(ms * float64(time.Millisecond))
	}
	after := header.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(after, 64); err == nil {
		return time.Duration(seconds * float64(time.Second))
	}
	if at, err := http.ParseTime(after); err == nil {
		return time.Until(at)
	}
	d := min(firstDelay<<min(tried, 10), longestWait)
	return d - rand.N(d/4) //nolint:gosec,mnd // not a secret
}
