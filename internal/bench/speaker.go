package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	apiclient "github.com/omoi-dev/omoi/api/client"
)

// speaker reports events of a sandbox in numbered batches, as an agent does.
type speaker struct {
	url, token string
	client     *http.Client
	said       int64
}

// agent speaks for a sandbox.
func (s *server) agent(box string) *speaker {
	return &speaker{
		url: s.info.APIURL + "/api/v1/sandboxes/" + box + "/events/batch", token: s.ring.Mint(box),
		client: http.DefaultClient,
	}
}

// say sends events and waits until they are stored.
func (a *speaker) say(ctx context.Context, events ...apiclient.CreateEventRequest) error {
	body, err := json.Marshal(apiclient.CreateEventBatchRequest{SpoolID: "bench", First: a.said + 1, Events: events})
	if err != nil {
		return fmt.Errorf("encode events: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("report events: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+a.token)
	response, err := a.client.Do(request)
	if err != nil {
		return fmt.Errorf("report events: %w", err)
	}
	defer response.Body.Close() //nolint:errcheck // read to its end
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("report events: %w", err)
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("report events: %s: %s", response.Status, answer)
	}
	a.said += int64(len(events))
	return nil
}
