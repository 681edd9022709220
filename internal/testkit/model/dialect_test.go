package model_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	modeltest "github.com/omoi-dev/omoi/internal/testkit/model"
)

// dialects are the requests of agents: a tool, a text and the result of a call.
var dialects = map[string]struct {
	path, body string
	call       string // how the answer names the command
	end        string // how a streamed answer ends
}{
	"responses": {
		"/v1/responses", `{"model":"m","stream":true,"tools":[{"type":"function","name":"exec_command"}],"input":[
			{"type":"message","role":"user","content":[{"type":"input_text","text":"Multiply."}]},
			{"type":"function_call_output","call_id":"c","output":"42\n"}]}`,
		`"arguments":"{\"cmd\":\"make it\"`, `"type":"response.completed"`,
	},
	"chat": {
		"/v1/chat/completions", `{"model":"m","stream":true,"tools":[{"type":"function","function":{"name":"bash"}}],"messages":[
			{"role":"user","content":[{"type":"text","text":"Multiply."}]},{"role":"tool","tool_call_id":"c","content":"42\n"}]}`,
		`\"command\":\"make it\"`, "data: [DONE]",
	},
	"gemini": {
		"/v1beta/models/m:streamGenerateContent", `{"tools":[{"functionDeclarations":[{"name":"run_shell_command"}]}],"contents":[
			{"role":"user","parts":[{"text":"Multiply."}]},
			{"role":"user","parts":[{"functionResponse":{"name":"run_shell_command","response":{"output":"42\n"}}}]}]}`,
		`"command":"make it"`, `"finishReason":"STOP"`,
	},
}

func post(t *testing.T, address, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return string(raw)
}

func TestDialects(t *testing.T) {
	t.Parallel()
	for name, d := range dialects {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			turn := modeltest.Turn{Text: "It is {{last_tool_result}}.", Tools: []modeltest.Tool{modeltest.Shell("make it")}, Expect: modeltest.Saying("Multiply.", "42")}
			s := modeltest.New(t, turn, turn, modeltest.Turn{Status: http.StatusTooManyRequests})
			streamed := post(t, s.URL+d.path, d.body)
			for _, want := range []string{`"It is`, ` 42."`, d.end} {
				require.Contains(t, streamed, want)
			}
			whole := post(t, s.URL+strings.Replace(d.path, "streamGenerateContent", "generateContent", 1), strings.Replace(d.body, `"stream":true`, `"stream":false`, 1))
			for _, want := range []string{`"It is 42."`, d.call} {
				require.Contains(t, whole, want)
			}
			require.NotContains(t, whole, "data:")
			require.Contains(t, post(t, s.URL+d.path, d.body), `"code":429`)
			require.Equal(t, "m", s.Requests()[0].Model)
		})
	}
}

// A request for JSON of a schema is a title, and spends no turn though it offers tools.
func TestTitlesOfTheResponsesAPISpendNoTurn(t *testing.T) {
	t.Parallel()
	s := modeltest.New(t)
	body := strings.Replace(dialects["responses"].body, "{", `{"text":{"format":{"type":"json_schema"}},`, 1)
	require.Contains(t, post(t, s.URL+"/v1/responses", body), `"text":"ok"`)
	require.Empty(t, s.Requests())
}
