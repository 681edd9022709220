package api_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

func sum(text string) int64 {
	return int64(crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli)))
}

// put sends the piece of an agent session's transcript that follows before.
func (w *world) put(sandbox, run, before, piece string, headers ...string) client.TranscriptMark {
	w.t.Helper()
	path := fmt.Sprintf("%s%s/transcripts/%s?offset=%d&sum=%d", wire, sandbox, run, len(before), sum(before))
	return ok[client.TranscriptMark](w.call(http.MethodPut, path, piece, headers...), http.StatusOK)
}

func (w *world) kept(taskID, run string, headers ...string) string {
	w.t.Helper()
	got := w.call(http.MethodGet, "/api/v1/tasks/"+taskID+"/transcripts/"+run, nil, headers...)
	require.Equal(w.t, http.StatusOK, got.status, string(got.body))
	require.Equal(w.t, "text/plain; charset=utf-8", got.header.Get("Content-Type"))
	return string(got.body)
}

// next starts a further attempt of a task.
func (w *world) next(t client.Task, number int) string {
	w.t.Helper()
	id := task.NewSandboxID()
	w.exec(`INSERT INTO sandboxes (id, organization_id, task_id, attempt, provider, machine, state)
		VALUES ($1, $2, $3, $4, 'external', false, 'running')`, id, w.org, t.ID, number)
	return id
}

func TestTranscript_GrowsByPieces(t *testing.T) {
	t.Parallel()
	w := open(t)
	job := w.task(newTask())
	box := w.begin(job)
	require.Equal(t, client.TranscriptMark{Stored: true, Received: 4, Sum: sum("one\n")}, w.put(box, "run-1", "", "one\n"))
	require.True(t, w.put(box, "run-1", "one\n", "two\n").Stored)
	require.Equal(t, client.TranscriptMark{Stored: true, Received: 8, Sum: sum("one\ntwo\n")},
		w.put(box, "run-1", "one\n", "two\n"), "a repeat is harmless")
	require.Equal(t, "one\ntwo\n", w.kept(job.ID, "run-1"))

	elsewhere := client.TranscriptMark{Received: 8, Sum: sum("one\ntwo\n")}
	require.Equal(t, elsewhere, w.put(box, "run-1", "", "other\n"), "the answer says where to go on")
	require.Equal(t, elsewhere, w.put(box, "run-1", "one\ntwX\n", "three\n"), "it continues another text")
	require.Equal(t, elsewhere, w.put(box, "run-1", "one\ntwo\nthree\n", "four\n"), "a piece between is missing")
	require.Equal(t, client.TranscriptMark{}, w.put(box, "run-9", "one\n", "two\n"), "nothing is known of this run")
	require.Equal(t, "one\ntwo\n", w.kept(job.ID, "run-1"))
	again := ok[client.TranscriptMark](w.call(http.MethodPut,
		wire+box+"/transcripts/run-1?replace=true&session_id=s", "new1\n"), http.StatusOK)
	require.Equal(t, client.TranscriptMark{Stored: true, Received: 5, Sum: sum("new1\n")}, again)
	require.Equal(t, "new1\n", w.kept(job.ID, "run-1"))
	list := ok[client.Page[client.TranscriptInfo]](w.call(http.MethodGet, "/api/v1/tasks/"+job.ID+"/transcripts", nil),
		http.StatusOK)
	require.Len(t, list.Items, 1)
	require.Equal(t, []any{"run-1", "s", box, 1, 5}, []any{
		list.Items[0].RunID, list.Items[0].SessionID, list.Items[0].SandboxID, list.Items[0].Attempt,
		int(list.Items[0].Bytes),
	})
	require.Equal(t, 0, w.count(`SELECT count(*) FROM sandbox_events`), "it is no event")
}

// Agents print the URL that holds their token.
func TestTranscript_StoresNoTokens(t *testing.T) {
	t.Parallel()
	w := open(t)
	job := w.task(newTask())
	box := w.begin(job)
	line := "http://h/t/" + w.ring.Mint(box) + "\n"
	require.Equal(t, client.TranscriptMark{
		Stored: true, Received: int64(len(line)), Sum: sum(line),
	}, w.put(box, "run", "", line))
	require.Equal(t, sum(line+line), w.put(box, "run", line, line).Sum)
	covered := "http://h/t/[redacted]" + strings.Repeat("_", len(line)-len("http://h/t/[redacted]\n")) + "\n"
	require.Equal(t, covered+covered, w.kept(job.ID, "run"), "positions in the text stay right")
	w.call(http.MethodPut, wire+box+"/transcripts/run?replace=true", line)
	require.Equal(t, covered, w.kept(job.ID, "run"))
}

func TestTranscript_RejectedPieceCreatesNone(t *testing.T) {
	t.Parallel()
	w := open(t)
	box := w.begin(w.task(newTask()))
	mark := ok[client.TranscriptMark](w.call(http.MethodPut, wire+box+"/transcripts/run?offset=0&sum=7", "a\n"),
		http.StatusOK)
	require.Equal(t, client.TranscriptMark{}, mark)
	require.Zero(t, w.count(`SELECT count(*) FROM transcripts`))
}

func TestTranscript_AcceptsGzip(t *testing.T) {
	t.Parallel()
	w := open(t)
	job := w.task(newTask())
	box := w.begin(job)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write([]byte("packed\n"))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	path := wire + box + "/transcripts/run"
	require.True(t, ok[client.TranscriptMark](w.call(http.MethodPut, path, packed.Bytes(), "Content-Encoding", "gzip"),
		http.StatusOK).Stored)
	require.Equal(t, "packed\n", w.kept(job.ID, "run"))
	w.call(http.MethodPut, path, bomb(t), "Content-Encoding", "gzip").refused(http.StatusRequestEntityTooLarge, "")
	w.call(http.MethodPut, path, "").refused(http.StatusBadRequest, "")
	w.call(http.MethodPut, path, "half a line").refused(http.StatusUnprocessableEntity, "")
	w.call(http.MethodPut, path+"?replace=true&offset=1", "a\n").refused(http.StatusUnprocessableEntity, "query.offset")
	w.call(http.MethodPut, path+"%20x", "a\n").refused(http.StatusUnprocessableEntity, "path.run_id")
	w.call(http.MethodPut, wire+box+"/transcripts/session-1", "a\n").refused(http.StatusUnprocessableEntity, "path.run_id")
	w.call(http.MethodPut, wire+"unknown/transcripts/run", "a\n").refused(http.StatusNotFound, "")
	w.exec(`UPDATE sandboxes SET state = 'gone', gone_at = now() - interval '2 hours', verified_at = now() - interval '2 hours'`)
	w.call(http.MethodPut, path, "a\n", authorization, "Bearer "+w.ring.Mint(box)).refused(http.StatusGone, "")
	_ = ok[client.TranscriptMark](w.call(http.MethodPut, path, "a\n"), http.StatusOK) // a user gives work back
}

// A transcript that grows beyond the limit keeps its newest lines, complete, and its lengths stay correct.
func TestTranscript_LongOneKeepsItsNewestLines(t *testing.T) {
	t.Parallel()
	const limit = 4 << 10
	w := start(t, func(c *api.Config) { c.Open, c.MaxTranscript = true, limit })
	job := w.task(newTask())
	box := w.begin(job)
	rng, whole := rand.New(rand.NewPCG(1, 2)), ""
	for n := range 60 {
		piece := strings.Repeat(fmt.Sprintf("%d %s\n", n, strings.Repeat("x", rng.IntN(300))), 1+rng.IntN(5))
		mark := w.put(box, "run", whole, piece)
		whole += piece
		got := w.kept(job.ID, "run")
		require.True(t, mark.Stored)
		require.EqualValues(t, len(whole), mark.Received)
		require.EqualValues(t, len(whole)-len(got), mark.CutBytes)
		require.True(t, strings.HasSuffix(whole, "\n"+got) || whole == got, "whole lines, the newest")
		require.LessOrEqual(t, len(got), limit)
	}
	require.Greater(t, len(w.kept(job.ID, "run")), limit/3)
	one := strings.Repeat("y", 2*limit) + "\n"
	require.EqualValues(t, len(whole)+len(one), w.put(box, "run", whole, one).CutBytes, "a line that is too long alone")
	whole += one
	require.True(t, w.put(box, "run", whole, "after\n").Stored)
	require.Equal(t, "after\n", w.kept(job.ID, "run"))
}

func TestTranscript_OfItsTaskOnly(t *testing.T) {
	t.Parallel()
	w := closed(t)
	owner := w.key(w.org, "write")
	mine := ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", newTask(), authorization, owner), http.StatusCreated)
	first := w.begin(mine)
	second := w.next(mine, 2)
	stranger := ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", newTask(), authorization, owner),
		http.StatusCreated)
	other := w.begin(stranger)
	bearer := func(box string) []string { return []string{authorization, "Bearer " + w.ring.Mint(box)} }
	require.True(t, w.put(first, "run-1", "", "mine\n", bearer(first)...).Stored)

	path := func(box string) string { return wire + box + "/transcripts/run-1" }
	w.call(http.MethodPut, path(second), "stolen\n", bearer(second)...).refused(http.StatusConflict, "")
	w.call(http.MethodPut, path(other), "stolen\n", bearer(other)...).refused(http.StatusConflict, "")
	w.call(http.MethodPut, path(other)+"?replace=true", "stolen\n", bearer(other)...).refused(http.StatusConflict, "")
	w.call(http.MethodPut, path(first), "stolen\n", bearer(other)...).refused(http.StatusForbidden, "")
	require.Equal(t, "mine\n", w.kept(mine.ID, "run-1", authorization, owner))

	later := w.call(http.MethodGet, path(second), nil, bearer(second)...)
	require.Equal(t, "mine\n", string(later.body), "a later attempt continues from it")
	w.call(http.MethodGet, path(other), nil, bearer(other)...).refused(http.StatusNotFound, "")
	w.call(http.MethodGet, path(first), nil, bearer(other)...).refused(http.StatusForbidden, "")
	tenant, err := w.store.EnsureOrganization(t.Context(), "other")
	require.NoError(t, err)
	for _, where := range []string{"/api/v1/tasks/" + mine.ID + "/transcripts", "/api/v1/tasks/" + mine.ID + "/transcripts/run-1", path(first)} {
		w.call(http.MethodGet, where, nil, authorization, w.key(tenant, "admin")).refused(http.StatusNotFound, "")
		w.call(http.MethodGet, where, nil).refused(http.StatusUnauthorized, "")
	}
	w.call(http.MethodGet, "/api/v1/tasks/"+stranger.ID+"/transcripts/run-1", nil, authorization, owner).
		refused(http.StatusNotFound, "")
}

func TestTranscript_NewestEarlierOneIsResumed(t *testing.T) {
	t.Parallel()
	w := open(t)
	job := w.task(newTask())
	first := w.begin(job)
	second, third := w.next(job, 2), w.next(job, 3)
	earlier := func(attempt int) string {
		found, ok, err := w.store.EarlierTranscript(t.Context(), job.ID, attempt)
		require.NoError(t, err)
		require.Equal(t, ok, found.RunID != "")
		return found.RunID
	}
	require.Empty(t, earlier(1))
	require.Empty(t, earlier(4))
	w.put(first, "run-1", "", "1\n")
	w.put(third, "run-3", "", "3\n")
	w.put(second, "run-2", "", "2\n") // arrived last, and is not of the newest attempt
	w.put(second, "run-2.beside", "", "{}\n")
	require.Empty(t, earlier(1), "its own is no earlier one")
	require.Equal(t, []string{"run-1", "run-2", "run-3"}, []string{earlier(2), earlier(3), earlier(4)})
	list := ok[client.Page[client.TranscriptInfo]](w.call(http.MethodGet, "/api/v1/tasks/"+job.ID+"/transcripts", nil), http.StatusOK)
	require.Len(t, list.Items, 3, "files beside a transcript are no transcript")
	require.Equal(t, "{}\n", w.kept(job.ID, "run-2.beside"))
	fresh := w.task(newTask())
	_, found, err := w.store.EarlierTranscript(t.Context(), fresh.ID, 2)
	require.NoError(t, err)
	require.False(t, found)
}
