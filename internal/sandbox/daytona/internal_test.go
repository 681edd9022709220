package daytona

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestToldToWait(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 2, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		head map[string]string
		want time.Duration
	}{
		"plain":          {map[string]string{"Retry-After": "7"}, 7 * time.Second},
		"of a kind":      {map[string]string{"Retry-After-Sandbox-Create": "9"}, 9 * time.Second},
		"the longest":    {map[string]string{"Retry-After": "3", "Retry-After-Authenticated": "12", "Retry-After-Sandbox-Create": "5"}, 12 * time.Second},
		"a date":         {map[string]string{"Retry-After": "Sun, 22 Nov 2026 02:00:30 GMT"}, 30 * time.Second},
		"nothing":        {nil, time.Second},
		"nonsense":       {map[string]string{"Retry-After": "soon"}, time.Second},
		"less than none": {map[string]string{"Retry-After": "-4"}, time.Second},
	} {
		h := http.Header{}
		for key, value := range c.head {
			h.Set(key, value)
		}
		require.Equal(t, c.want, toldToWait(h, now), name)
	}
}

func TestMeaning(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		body   string
		want   task.Code
		says   string
	}{
		{400, `{"statusCode":400,"message":"Snapshot x is not active","error":"Bad Request"}`, task.CodeInvalid, "Snapshot x is not active"},
		{400, `{"message":["a is wrong","b too"]}`, task.CodeInvalid, "a is wrong b too"},
		{400, `{"message":"No available runners"}`, task.CodeExhausted, "No available runners"},
		{400, `{"message":"Total CPU quota exceeded"}`, task.CodeExhausted, "quota"},
		{400, `{"message":"Sandbox state change in progress"}`, task.CodeConflict, "in progress"},
		{401, `{"message":"Unauthorized"}`, task.CodeForbidden, "DAYTONA_API_KEY"},
		{403, `{"error":"suspended"}`, task.CodeForbidden, "suspended"},
		{404, `{"code":"NOT_FOUND","message":"file not found"}`, task.CodeNotFound, "file not found"},
		{408, ``, task.CodeUnavailable, "for now"},
		{409, `{}`, task.CodeConflict, "another change"},
		{410, ``, task.CodeGone, "deleted"},
		{422, ``, task.CodeInvalid, "refused"},
		{429, ``, task.CodeExhausted, "rate limit"},
		{500, `<html>`, task.CodeUnavailable, "for now"},
		{502, ``, task.CodeUnavailable, "for now"},
		{503, `{"message":"maintenance"}`, task.CodeUnavailable, "maintenance"},
	} {
		err := meaning("create a sandbox", read(&http.Response{StatusCode: c.status, Header: http.Header{}}, []byte(c.body)))
		require.Equal(t, c.want, task.CodeOf(err), "%d %s", c.status, c.body)
		require.Contains(t, task.MessageOf(err), c.says)
		require.Contains(t, task.MessageOf(err), "create a sandbox")
		require.Equal(t, c.status, statusOf(err))
	}
}

func TestWhole(t *testing.T) {
	t.Parallel()
	cpu, memory, disk := whole(sandbox.Limits{MemoryBytes: 4 * sandbox.GiB, CPUs: 2, DiskBytes: 8 * sandbox.GB})
	require.Equal(t, []int32{2, 4, 8}, []int32{cpu, memory, disk})
	cpu, memory, disk = whole(sandbox.Limits{MemoryBytes: sandbox.GiB / 2, CPUs: 0.5, DiskBytes: 10 * sandbox.GB})
	require.Equal(t, []int32{1, 1, 10}, []int32{cpu, memory, disk})
}

func TestEnding(t *testing.T) {
	t.Parallel()
	code, reason := ending(137)
	require.Equal(t, -1, code)
	require.Equal(t, "killed: killed", reason)
	code, reason = ending(200)
	require.Equal(t, 200, code)
	require.Empty(t, reason)
}

func TestCommand_InvalidEnv(t *testing.T) {
	t.Parallel()
	require.Equal(t, task.CodeInvalid, task.CodeOf(sandbox.Command{Args: []string{"env"}, Env: map[string]string{"A B": "x"}}.Check()))
}
