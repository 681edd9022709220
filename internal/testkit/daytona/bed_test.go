package daytona_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	daytonatest "github.com/omoi-dev/omoi/internal/testkit/daytona"
	"github.com/omoi-dev/omoi/internal/testkit/daytona/openapitest"
)

const patience = 30 * time.Second // for a fact that must come

// bed is an emulator with a caller.
type bed struct {
	*daytonatest.Server // nil: it is another process

	t      *testing.T
	url    string
	header http.Header
	client *http.Client
}

type object = map[string]any

func newBed(t *testing.T, opts daytonatest.Options) *bed {
	t.Helper()
	s := openapitest.Start(t, opts)
	b := caller(t, s.URL(), s.Key())
	b.Server = s
	return b
}

func caller(t *testing.T, url, key string) *bed {
	t.Helper()
	through := &http.Transport{}
	t.Cleanup(through.CloseIdleConnections)
	header := http.Header{"Authorization": {"Bearer " + key}, "X-Daytona-Sdk-Version": {"0.205.1"}}
	return &bed{nil, t, url, header, &http.Client{Transport: through, Timeout: patience}}
}

// confined skips what needs /home/daytona.
func confined(t *testing.T, b *bed) {
	t.Helper()
	if !b.Confined() {
		t.Skipf("SKIPPED: bubblewrap does not work here: %v", b.Isolation())
	}
}

// try sends a request and answers its status, headers and body. An error is a lost answer.
func (b *bed) try(
	method, url string, body io.Reader, kind string,
) (status int, header http.Header, text []byte, err error) {
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, url, body)
	require.NoError(b.t, err)
	request.Header = b.header.Clone()
	if kind != "" {
		request.Header.Set("Content-Type", kind)
	}
	response, err := b.client.Do(request)
	if err != nil {
		return 0, nil, nil, err
	}
	text, err = io.ReadAll(response.Body)
	return response.StatusCode, response.Header, text, errors.Join(err, response.Body.Close())
}

func (b *bed) send(want int, method, url string, in any) object {
	b.t.Helper()
	var body io.Reader = http.NoBody
	if in != nil {
		text, err := json.Marshal(in)
		require.NoError(b.t, err)
		body = bytes.NewReader(text)
	}
	status, _, text, err := b.try(method, url, body, "application/json")
	require.NoError(b.t, err)
	require.Equal(b.t, want, status, "%s %s: %s", method, url, text)
	out := object{}
	if bytes.HasPrefix(text, []byte("{")) {
		require.NoError(b.t, json.Unmarshal(text, &out))
	}
	return out
}

// api calls the main API.
func (b *bed) api(want int, call string, in any) object {
	b.t.Helper()
	method, path, _ := strings.Cut(call, " ")
	return b.send(want, method, b.URL()+path, in)
}

// box makes a started sandbox and answers its id and the address of its toolbox.
func (b *bed) box(in object) (id, toolbox string) {
	b.t.Helper()
	made := b.api(200, "POST /sandbox", in)
	require.Equal(b.t, "started", made["state"], "%v", made)
	id = made["id"].(string)
	return id, made["toolboxProxyUrl"].(string) + "/" + id
}

// until asks for a sandbox until it is in a state; destroyed is not being there.
func (b *bed) until(key, state string) object {
	b.t.Helper()
	var seen object
	b.eventually("it is "+state, func() bool {
		status, _, text, err := b.try("GET", b.URL()+"/sandbox/"+key, http.NoBody, "")
		require.NoError(b.t, err)
		seen = object{}
		require.NoError(b.t, json.Unmarshal(text, &seen))
		return seen["state"] == state || status == 404 && state == "destroyed"
	})
	return seen
}

func (b *bed) eventually(what string, fact func() bool) {
	b.t.Helper()
	for end := time.Now().Add(patience); !fact(); {
		require.True(b.t, time.Now().Before(end), "it never came true that %s", what)
		timer := time.NewTimer(5 * time.Millisecond)
		<-timer.C
	}
}

// run executes a command and answers its code and output.
func (b *bed) run(toolbox, command string) (code int, output string) {
	b.t.Helper()
	out := b.send(200, "POST", toolbox+"/process/execute", object{"command": command, "timeout": 20})
	return int(out["exitCode"].(float64)), out["result"].(string)
}

// form is a bulk upload: field, text, field, text.
func form(t *testing.T, fields ...string) (body *bytes.Buffer, kind string) {
	t.Helper()
	body = &bytes.Buffer{}
	w := multipart.NewWriter(body)
	for i := 0; i < len(fields); i += 2 {
		field := w.CreateFormField
		if strings.HasSuffix(fields[i], ".file") {
			field = func(name string) (io.Writer, error) { return w.CreateFormFile(name, "name") }
		}
		part, err := field(fields[i])
		require.NoError(t, err)
		_, err = io.WriteString(part, fields[i+1])
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return body, w.FormDataContentType()
}
