package api

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/task"
)

// Intake stores events and returns after the commit.
type Intake interface {
	Single(ctx context.Context, sandboxID string, e ingest.Event, bare bool) (ingest.Receipt, error)
	Batch(ctx context.Context, sandboxID, spoolID string, first int64, events []ingest.Event) (ingest.BatchReceipt, error)
}

// report is a request to one of the hot routes for events.
type report struct {
	*http.Request

	in        *limitedBody
	sandboxID string
	body      []byte
	// transcript is the maximum length of a transcript in addition to the limit of the body; 0: none.
	transcript int
	cut        int64 // of the transcript, in bytes
}

// registerIntake registers the two hot routes. huma describes them but does not serve them: its reflection costs more
// per request than all other work.
func (a *API) registerIntake() {
	events := a.group(tagSandboxes, "/api/v1/sandboxes/{sandbox_id}/events")
	transcript := base64.StdEncoding.EncodedLen(int(a.cfg.MaxTranscript))
	limit := newBodyLimit(bodyRoom, max(a.cfg.MaxBatch, maxBody+int64(transcript)+2*longStep))
	hot[postEventIn](events.on(accessSandbox, "POST", "create-event", "Create an event"), limit, a.postEvent,
		details{more: "Legacy. Stores one event and answers after the commit; 503 means unknown, so send the event again with the " +
			"same key.", says: client.CreateEventRequest{}, body: maxBody, transcript: transcript})
	hot[postBatchIn](events.on(accessSandbox, "POST /batch", "create-event-batch", "Create a batch of events"),
		limit, a.postBatch,
		details{more: "Stores the events first, first+1, ... of a spool and answers after the commit. Duplicates are acknowledged; " +
			"a gap is 409 with the watermark in acknowledged.", says: client.CreateEventBatchRequest{}, body: a.cfg.MaxBatch})
}

// hot registers a route for events; I describes its parameters, O its response.
func hot[I, O any](r route, limit *bodyLimit, answer func(context.Context, report) (O, error), more details) {
	r.details = more
	a := r.api
	type answered struct{ Body O }
	huma.Register(paper{a.huma}, a.operation(r), func(context.Context, *I) (*answered, error) { return nil, errOnPaper })
	a.describeBody(r)
	a.describeLimit(r)
	a.routes.Handle(r.method, strings.ReplaceAll(r.path, "{sandbox_id}", ":sandbox_id"), func(c *gin.Context) {
		in := limitBody(c, limit)
		defer in.leave()
		a.take(c.Writer, report{Request: c.Request, in: in, sandboxID: c.Param("sandbox_id"), transcript: r.transcript}, r, func(ctx context.Context, said report) (any, error) {
			return answer(ctx, said)
		})
	})
}

// take handles one report: the checks of every other route, then the body, then answer.
func (a *API) take(w http.ResponseWriter, said report, r route, answer func(context.Context, report) (any, error)) {
	var body bytes.Buffer
	out, err := func() (any, error) {
		if _, err := a.admit(said.Request, said.sandboxID, r.access); err != nil {
			return nil, err
		}
		if err := checkSandboxID(said.sandboxID); err != nil {
			return nil, err
		}
		if err := said.readBody(r.body, &body); err != nil {
			return nil, err
		}
		if err := checkMedia(said.Request); err != nil {
			return nil, err
		}
		said.body = body.Bytes()
		return answer(said.Context(), said)
	}()
	if err == nil {
		err = writeJSON(w, out)
	}
	if err != nil {
		challenge(w.Header(), err)
		a.writeError(w, said.Request, err)
	}
}

const maxSandboxID = 100

// checkSandboxID rejects what cannot be a sandbox ID, on every route.
func checkSandboxID(id string) error {
	const field = "path.sandbox_id"
	switch {
	case utf8.RuneCountInString(id) > maxSandboxID:
		return task.Invalid(field, "The sandbox_id must have at most %d characters.", maxSandboxID)
	case !utf8.ValidString(id):
		return task.Invalid(field, "The sandbox_id is not valid UTF-8.")
	case strings.ContainsFunc(id, func(r rune) bool { return r < ' ' || r == 0x7f }): // as in event IDs
		return task.Invalid(field, "The sandbox_id must not contain control characters.")
	}
	return nil
}

func writeJSON(w http.ResponseWriter, v any) error {
	content, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(content, '\n')) // the client may have disconnected
	return nil
}

// checkMedia rejects a body whose content type is not JSON.
func checkMedia(r *http.Request) error {
	media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if media = strings.TrimSpace(media); media == "" || strings.EqualFold(media, "application/json") {
		return nil
	}
	return httpError(http.StatusUnsupportedMediaType, "Unsupported content type %q: use application/json.", clip(media))
}

// paper is an API that only describes operations: what is registered with it is not served.
type paper struct{ huma.API }

func (paper) Adapter() huma.Adapter { return noAdapter{} }

type noAdapter struct{}

func (noAdapter) Handle(*huma.Operation, func(huma.Context)) {}

func (noAdapter) ServeHTTP(http.ResponseWriter, *http.Request) {}

var errOnPaper = errors.New("this route is described here and served elsewhere")
