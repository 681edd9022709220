package daytona_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	daytonatest "github.com/omoi-dev/omoi/internal/testkit/daytona"
)

// exec runs a command in a session and answers what its call said.
func (b *bed) exec(toolbox, session, command string, async bool) object {
	b.t.Helper()
	want := 200
	if async {
		want = 202
	}
	return b.send(want, "POST", toolbox+"/process/session/"+session+"/exec", object{"command": command, "runAsync": async})
}

func (b *bed) codeOf(toolbox, session, command string) any {
	b.t.Helper()
	return b.send(200, "GET", toolbox+"/process/session/"+session+"/command/"+command, nil)["exitCode"]
}

func TestSessionIsOneShell(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{})
	_, toolbox := b.box(object{})
	session := toolbox + "/process/session"
	b.send(201, "POST", session, object{"sessionId": "one"})
	b.send(409, "POST", session, object{"sessionId": "one"})
	b.send(400, "POST", session, object{"sessionId": "entrypoint"})
	b.send(404, "GET", session+"/other", nil)

	b.exec(toolbox, "one", "cd /tmp; X=kept", false)
	out := b.exec(toolbox, "one", `echo "$X"; pwd; echo wrong >&2; printf end; (exit 7)`, false)
	require.EqualValues(t, 7, out["exitCode"])
	require.True(t, strings.HasPrefix(out["stdout"].(string), "kept\n"))
	require.True(t, strings.HasSuffix(out["stdout"].(string), "\nend\n"), "a last newline is added")
	require.Equal(t, "wrong\n", out["stderr"])
	require.Contains(t, out["output"], "\x01\x01\x01kept\n")
	require.Contains(t, out["output"], "\x02\x02\x02wrong\n")

	first := b.exec(toolbox, "one", "read line; echo got $line", true)["cmdId"].(string)
	second := b.exec(toolbox, "one", "echo second", true)["cmdId"].(string)
	require.Nil(t, b.codeOf(toolbox, "one", first), "it runs")
	require.Nil(t, b.codeOf(toolbox, "one", second), "one after another")
	b.send(204, "POST", session+"/one/command/"+first+"/input", object{"data": "word"})
	b.eventually("both end", func() bool { return b.codeOf(toolbox, "one", second) != nil })
	b.send(410, "POST", session+"/one/command/"+first+"/input", object{"data": "late"})
	logs := b.send(200, "GET", session+"/one/command/"+first+"/logs", nil)
	require.Equal(t, "word\ngot word\n", logs["stdout"], "input is echoed")
	require.Len(t, b.send(200, "GET", session+"/one", nil)["commands"], 4)

	gone := b.exec(toolbox, "one", "exit 5", true)["cmdId"].(string)
	b.eventually("the shell has ended", func() bool {
		status, _, _, err := b.try("POST", session+"/one/exec",
			strings.NewReader(`{"command":"true","runAsync":true}`), "application/json")
		return err == nil && status == http.StatusConflict
	})
	require.Nil(t, b.codeOf(toolbox, "one", gone), "nobody wrote its code")
	b.send(204, "DELETE", session+"/one", nil)
	b.send(404, "GET", session+"/one/command/"+first+"/logs", nil)
}

func TestSessionEndsItsGroup(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{Grace: 20 * time.Millisecond})
	_, toolbox := b.box(object{})
	b.send(201, "POST", toolbox+"/process/session", object{"sessionId": "a/b c"})
	at := toolbox + "/process/session/a%2Fb%20c"
	b.send(202, "POST", at+"/exec", object{"command": `trap "" TERM; sleep 99991 & sleep 99991`, "runAsync": true})
	running := func() bool {
		_, out := b.run(toolbox, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
		return strings.Contains(out, "sleep 99991")
	}
	b.eventually("it runs", running)
	b.send(204, "DELETE", at, nil)
	require.False(t, running())
}

func TestExecute(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{})
	_, toolbox := b.box(object{})
	at := toolbox + "/process/execute"
	require.Equal(t, "a\nb\n", b.send(200, "POST", at, object{"command": "echo a; echo b >&2"})["result"], "merged")
	require.EqualValues(t, -1, b.send(200, "POST", at, object{"command": "true", "cwd": "/nowhere"})["exitCode"])
	require.Equal(t, "PROCESS_EXECUTION_TIMEOUT",
		b.send(408, "POST", at, object{"command": "sleep 600", "timeout": 1})["code"])
	b.send(400, "POST", at, object{"command": "true", "envs": object{"A-B": "c"}})
	require.Equal(t, "v\n", b.send(200, "POST", at, object{"command": "echo $A", "envs": object{"A": "v"}})["result"])
}

// follow opens the stream of a log.
func (b *bed) follow(url string, header http.Header, protocols ...string) *websocket.Conn {
	b.t.Helper()
	conn, _, err := websocket.Dial(b.t.Context(), url+"?follow=true", &websocket.DialOptions{HTTPHeader: header, HTTPClient: b.client, Subprotocols: protocols}) //nolint:bodyclose // it has none
	require.NoError(b.t, err)
	b.t.Cleanup(func() { _ = conn.CloseNow() })
	return conn
}

// drain reads a stream to its end, and answers all and how it ended.
func (b *bed) drain(conn *websocket.Conn) (text []byte, end error) {
	b.t.Helper()
	for {
		kind, frame, err := conn.Read(b.t.Context())
		if err != nil {
			return text, err
		}
		require.Equal(b.t, websocket.MessageBinary, kind)
		text = append(text, frame...)
	}
}

func TestLogStream(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{FrameBytes: 2, Quiet: 10 * time.Millisecond})
	id, toolbox := b.box(object{})
	b.send(201, "POST", toolbox+"/process/session", object{"sessionId": "s"})
	out := b.exec(toolbox, "s", "echo one; echo two >&2", false)
	url := toolbox + "/process/session/s/command/" + out["cmdId"].(string) + "/logs"
	marked := out["output"].(string)
	plain := strings.NewReplacer("\x01\x01\x01", "", "\x02\x02\x02", "").Replace(marked)
	key := http.Header{"Authorization": b.header["Authorization"]}

	text, end := b.drain(b.follow(url, b.header))
	require.Equal(t, marked, string(text), "from the beginning, with marks")
	require.Equal(t, websocket.StatusNormalClosure, websocket.CloseStatus(end))
	text, _ = b.drain(b.follow(url, key))
	require.Equal(t, plain, string(text), "an old caller gets no marks")
	text, _ = b.drain(b.follow(url, key, "X-Daytona-SDK-Version~0.205.1"))
	require.Equal(t, marked, string(text), "the version by subprotocol")

	b.header = key
	_, header, text, err := b.try("GET", url, http.NoBody, "")
	require.NoError(t, err)
	require.Equal(t, plain, string(text))
	require.Contains(t, header.Get("Content-Type"), "text/plain")

	b.Faults().Set(daytonatest.Fault{Switch: daytonatest.DroppedStream, Sandbox: id, Times: 1, After: 5})
	b.send(200, "GET", url, nil) // no stream, so nothing of this switch's
	text, end = b.drain(b.follow(url, key))
	require.Less(t, len(text), len(plain))
	require.EqualValues(t, -1, websocket.CloseStatus(end), "it broke off")
	text, _ = b.drain(b.follow(url, key))
	require.Equal(t, plain, string(text), "the next one is whole")
}

func TestFiles(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{})
	confined(t, b)
	_, toolbox := b.box(object{})
	files := toolbox + "/files"
	body, kind := form(t, "files[0].path", "new/a", "files[0].file", "text of a", "files[1].path",
		"/tmp/b", "files[1].file", "b")
	status, _, text, err := b.try("POST", files+"/bulk-upload", body, kind)
	require.NoError(t, err)
	require.Equal(t, 200, status, string(text))
	require.JSONEq(t, `{"files":[{"path":"/home/daytona/new/a","bytes":9},{"path":"/tmp/b","bytes":1}]}`, string(text))
	body, kind = form(t, "files[0].file", "x", "files[0].path", "late", "files[1].path", "good", "files[1].file", "y")
	status, _, text, err = b.try("POST", files+"/bulk-upload", body, kind)
	require.NoError(t, err)
	require.Equal(t, 400, status)
	require.JSONEq(t,
		`{"errors":["files[0].file: no path before the file"],"files":[{"path":"/home/daytona/good","bytes":1}]}`,
		string(text))

	status, _, text, err = b.try("GET", files+"/download?path=new/a", http.NoBody, "")
	require.NoError(t, err)
	require.Equal(t, 200, status)
	require.Equal(t, "text of a", string(text))
	b.run(toolbox, "mkfifo pipe; ln -s /etc/shadow out; mkdir -m 0 closed")
	for path, want := range map[string]int{"new": 400, "pipe": 400, "none": 404, "out": 404, "closed/x": 403} {
		b.send(want, "GET", files+"/download?path="+path, nil)
	}
	info := b.send(200, "GET", files+"/info?path=new/a", nil)
	require.EqualValues(t, 9, info["size"])
	require.Equal(t, "daytona", info["owner"])
	b.send(409, "POST", files+"/move?source=new/a&destination=good", nil)
	b.send(404, "POST", files+"/move?source=new/a&destination=nowhere/a", nil)
	b.send(200, "POST", files+"/move?source=new/a&destination=moved", nil)
	b.send(200, "POST", files+"/permissions?path=moved&mode=0600", nil)
	require.Equal(t, "0600", b.send(200, "GET", files+"/info?path=moved", nil)["permissions"])
	b.send(201, "POST", files+"/folder?path=deep/er&mode=0755", nil)
	b.send(400, "DELETE", files+"?path=deep", nil)
	b.send(204, "DELETE", files+"?path=deep&recursive=true", nil)
	status, _, text, err = b.try("POST", files+"/bulk-download",
		strings.NewReader(`{"paths":["moved","none"]}`), "application/json")
	require.NoError(t, err)
	require.Equal(t, 200, status)
	require.Contains(t, string(text), "text of a")
	require.Contains(t, string(text), "FILE_NOT_FOUND")
}
