package api_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/task"
)

// sealed describes a checkpoint with this pack.
func sealed(base int, pack string) checkpoint.Sealed {
	sum := sha256.Sum256([]byte(pack))
	return checkpoint.Sealed{
		Base: base, PackBytes: int64(len(pack)), PackSHA256: hex.EncodeToString(sum[:]), Commit: strings.Repeat("c", 40),
		Head: strings.Repeat("b", 40), HeadRef: "refs/heads/x", Files: 2, LeftOut: []string{},
		TakenAt: time.Date(2026, 11, 27, 1, 2, 3, 0, time.UTC),
	}
}

// sends returns the headers of a request; without any, those of the sandbox itself.
func (w *world) sends(sandbox string, headers []string) []string {
	if len(headers) == 0 {
		return []string{authorization, "Bearer " + w.ring.Mint(sandbox)}
	}
	return headers
}

// octets sends a chunk of a pack.
func (w *world) octets(sandbox string, number, offset int, chunk string, headers ...string) answer {
	w.t.Helper()
	path := fmt.Sprintf("%s%s/checkpoints/%d/pack?offset=%d", wire, sandbox, number, offset)
	return w.call(http.MethodPut, path, []byte(chunk), append(w.sends(sandbox, headers), "Content-Type", "application/octet-stream")...)
}

func (w *world) seal(sandbox string, number int, c checkpoint.Sealed, headers ...string) answer {
	w.t.Helper()
	return w.call(http.MethodPut, fmt.Sprintf("%s%s/checkpoints/%d", wire, sandbox, number), c, w.sends(sandbox, headers)...)
}

// checkpoint stores a whole checkpoint.
func (w *world) checkpoint(sandbox string, number, base int, pack string, headers ...string) client.Checkpoint {
	w.t.Helper()
	ok[client.CheckpointReceived](w.octets(sandbox, number, 0, pack, headers...), http.StatusOK)
	return ok[client.Checkpoint](w.seal(sandbox, number, sealed(base, pack), headers...), http.StatusOK)
}

func TestCheckpoint_FromChunksToTheNextAttempt(t *testing.T) {
	t.Parallel()
	w := open(t)
	job := w.task(newTask())
	box := w.begin(job)
	one, two := strings.Repeat("\x00\xffone", 1000), "two"
	got := ok[client.CheckpointReceived](w.octets(box, 1, 0, one), http.StatusOK)
	require.Equal(t, client.CheckpointReceived{Stored: true, Received: int64(len(one))}, got)
	require.Equal(t, got, ok[client.CheckpointReceived](w.octets(box, 1, 0, one), http.StatusOK), "its answer was lost")
	require.Equal(t, client.CheckpointReceived{Received: int64(len(one))}, ok[client.CheckpointReceived](w.octets(box, 1, 9_000, two), http.StatusOK))
	ok[client.CheckpointReceived](w.octets(box, 1, len(one), two), http.StatusOK)

	w.octets(box, 1, 0, "other").refused(http.StatusConflict, "")
	w.seal(box, 1, sealed(0, one)).refused(http.StatusConflict, "")
	w.seal(box, 1, sealed(0, one+"owt")).refused(http.StatusConflict, "")
	w.seal(box, 1, sealed(7, one+two)).refused(http.StatusConflict, "")
	first := ok[client.Checkpoint](w.seal(box, 1, sealed(0, one+two)), http.StatusOK)
	require.Equal(t, "1.1", first.ID)
	require.Equal(t, sealed(0, one+two), first.Sealed)
	require.Equal(t, first, ok[client.Checkpoint](w.seal(box, 1, sealed(0, one+two)), http.StatusOK), "its answer was lost")
	w.seal(box, 1, sealed(0, "")).refused(http.StatusConflict, "")
	second := ok[client.Checkpoint](w.seal(box, 2, sealed(1, "")), http.StatusOK)

	tasks := "/api/v1/tasks/" + job.ID + "/checkpoints"
	list := ok[client.Page[client.Checkpoint]](w.call(http.MethodGet, tasks, nil), http.StatusOK)
	require.Equal(t, []client.Checkpoint{second, first}, list.Items)
	page := ok[client.Page[client.Checkpoint]](w.call(http.MethodGet, tasks+"?limit=1", nil), http.StatusOK)
	require.Equal(t, []client.Checkpoint{second}, page.Items)
	page = ok[client.Page[client.Checkpoint]](w.call(http.MethodGet, tasks+"?limit=1&cursor="+*page.NextCursor, nil), http.StatusOK)
	require.Equal(t, []client.Checkpoint{first}, page.Items)
	require.Equal(t, first, ok[client.Checkpoint](w.call(http.MethodGet, tasks+"/1.1", nil), http.StatusOK))

	next := w.next(job, 2)
	pack := w.call(http.MethodGet, wire+next+"/checkpoints/1.1/pack", nil)
	require.Equal(t, one+two, string(pack.body))
	require.Equal(t, "application/octet-stream", pack.header.Get("Content-Type"))
	require.Empty(t, w.call(http.MethodGet, wire+next+"/checkpoints/1.2/pack", nil).body, "a checkpoint without new objects")
	w.octets(box, 3, 0, "late").refused(http.StatusConflict, "")
	w.seal(box, 3, sealed(2, "")).refused(http.StatusConflict, "")
}

func TestCheckpoint_RejectsWhatIsNoCheckpoint(t *testing.T) {
	t.Parallel()
	w := open(t)
	job := w.task(newTask())
	box := w.begin(job)
	w.octets(box, 1, 0, "").refused(http.StatusBadRequest, "")
	w.octets(box, 0, 0, "x").refused(http.StatusUnprocessableEntity, "path.checkpoint")
	w.octets(box, 1, -1, "x").refused(http.StatusUnprocessableEntity, "query.offset")
	w.octets(box, 1, checkpoint.MaxPack+1, "x").refused(http.StatusUnprocessableEntity, "query.offset")
	w.octets("unknown", 1, 0, "x").refused(http.StatusNotFound, "")
	wrong := sealed(0, "")
	wrong.PackSHA256 = "x"
	w.seal(box, 1, wrong).refused(http.StatusUnprocessableEntity, "body.pack_sha256")
	wrong = sealed(0, "")
	wrong.LeftOut = make([]string, checkpoint.MaxLeftOut+1)
	w.seal(box, 1, wrong).refused(http.StatusUnprocessableEntity, "body.left_out")
	w.seal(box, 1, sealed(3_000_000_000, "")).refused(http.StatusUnprocessableEntity, "body.base_number")
	wrong = sealed(0, "")
	wrong.Files = 3_000_000_000
	w.seal(box, 1, wrong).refused(http.StatusUnprocessableEntity, "body.files")
	for _, path := range []string{
		"/api/v1/tasks/" + job.ID + "/checkpoints/1.1", "/api/v1/tasks/" + job.ID + "/checkpoints/1", wire + box + "/checkpoints/1.1/pack",
		"/api/v1/tasks/" + job.ID + "/checkpoints/99999999999.1", wire + box + "/checkpoints/99999999999.1/pack",
		wire + box + "/checkpoints/1/pack", "/api/v1/tasks/" + task.NewID() + "/checkpoints", "/api/v1/tasks/" + task.NewID() + "/checkpoints/1.1",
	} {
		w.call(http.MethodGet, path, nil).refused(http.StatusNotFound, "")
	}
	w.checkpoint(box, 1, 0, "one")
	w.exec(`UPDATE checkpoints SET pack_bytes = $1`, checkpoint.MaxPack)
	ok[client.CheckpointReceived](w.octets(box, 2, 0, "x"), http.StatusOK)
	w.exec(`UPDATE checkpoints SET pack_bytes = $1 WHERE number = 2`, checkpoint.MaxPack)
	require.Equal(t, task.KindCheckpointLimit, w.octets(box, 2, checkpoint.MaxPack, "x").refused(http.StatusUnprocessableEntity, "").Code)

	w.exec(`INSERT INTO removals (subject, kind, removed_at) VALUES ($1, 'checkpoints', now())`, box)
	for _, path := range []string{"/api/v1/tasks/" + job.ID + "/checkpoints", "/api/v1/tasks/" + job.ID + "/checkpoints/1.1", wire + box + "/checkpoints/1.1/pack"} {
		require.Equal(t, task.KindDataRemoved, w.call(http.MethodGet, path, nil).refused(http.StatusGone, "").Code)
	}
	w.exec(`UPDATE sandboxes SET state = 'gone', gone_at = now() - interval '2 hours', verified_at = now() - interval '2 hours'`)
	p := w.octets(box, 3, 0, "x", authorization, "Bearer "+w.ring.Mint(box)).refused(http.StatusGone, "")
	require.Equal(t, task.KindSandboxDeleted, p.Code)
}

func TestCheckpoint_OfItsTaskOnly(t *testing.T) {
	t.Parallel()
	w := closed(t)
	owner := w.key(w.org, "write")
	mine := ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", newTask(), authorization, owner), http.StatusCreated)
	stranger := ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", newTask(), authorization, owner), http.StatusCreated)
	first, other := w.begin(mine), w.begin(stranger)
	bearer := func(box string) []string { return []string{authorization, "Bearer " + w.ring.Mint(box)} }
	w.checkpoint(first, 1, 0, "mine", bearer(first)...)
	second := w.next(mine, 2)

	pack := func(box string) string { return wire + box + "/checkpoints/1.1/pack" }
	require.Equal(t, "mine", string(w.call(http.MethodGet, pack(second), nil, bearer(second)...).body), "the next attempt continues from it")
	w.call(http.MethodGet, pack(other), nil, bearer(other)...).refused(http.StatusNotFound, "")
	w.call(http.MethodGet, pack(first), nil, bearer(other)...).refused(http.StatusForbidden, "")
	w.octets(second, 1, 0, "stolen", bearer(other)...).refused(http.StatusForbidden, "")
	w.seal(second, 1, sealed(0, ""), bearer(other)...).refused(http.StatusForbidden, "")

	tenant, err := w.store.EnsureOrganization(t.Context(), "other")
	require.NoError(t, err)
	list := "/api/v1/tasks/" + mine.ID + "/checkpoints"
	for _, path := range []string{list, list + "/1.1", pack(first)} {
		w.call(http.MethodGet, path, nil, authorization, w.key(tenant, "admin")).refused(http.StatusNotFound, "")
		w.call(http.MethodGet, path, nil).refused(http.StatusUnauthorized, "")
		require.Equal(t, http.StatusOK, w.call(http.MethodGet, path, nil, authorization, owner).status, path)
	}
	w.octets(first, 2, 0, "x", authorization, w.key(tenant, "admin")).refused(http.StatusNotFound, "")
}
