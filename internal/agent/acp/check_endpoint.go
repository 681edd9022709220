package acp

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// endpoint serves a model endpoint on loopback that answers with a status, or not at all. asked is closed at its first
// request.
func endpoint(status int) (address string, asked <-chan struct{}, done func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // returns immediately
	if err != nil {
		return "", nil, nil, fmt.Errorf("listen for the agent: %w", err)
	}
	first := make(chan struct{})
	tell := sync.OnceFunc(func() { close(first) })
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			tell()
		}
		switch status {
		case 0:
			<-r.Context().Done()
		case http.StatusOK:
			nothing(w, r)
		default:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, `{"error":{"code":%d,"type":"omoi_check","message":"omoi check: %s"}}`, status, http.StatusText(status))
		}
	})}
	go func() { _ = server.Serve(listener) }()
	return "http://" + listener.Addr().String(), first, func() { _ = server.Close() }, nil
}

// emptyAnswers are streams of an answer without a text and without a tool call, by the end of the request's path.
//
//nolint:gochecknoglobals // constant
var emptyAnswers = map[string]string{
	"/responses": `event: response.created
data: {"type":"response.created","response":{"id":"r","object":"response","created_at":0,"status":"in_progress","model":"m","output":[]}}

event: response.completed
data: {"type":"response.completed","response":{"id":"r","object":"response","created_at":0,"status":"completed","model":"m","output":[],"usage":{"input_tokens":1,"output_tokens":0,"total_tokens":1}}}

`,
	"/chat/completions": `data: {"id":"c","object":"chat.completion.chunk","created":0,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":"stop"}]}

data: [DONE]

`,
	"/messages": `event: message_start
data: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":0}}}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":0}}

event: message_stop
data: {"type":"message_stop"}

`,
	":streamGenerateContent": `data: {"candidates":[{"index":0,"content":{"role":"model","parts":[{"text":""}]},"finishReason":"STOP"}],"modelVersion":"m","usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":0,"totalTokenCount":1}}

`,
}

// nothing answers a request with an empty answer of its protocol; other requests get an empty body.
func nothing(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	for end, stream := range emptyAnswers {
		if strings.HasSuffix(r.URL.Path, end) {
			_, _ = fmt.Fprint(w, stream)
		}
	}
}
