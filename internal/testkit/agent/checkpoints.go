package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/omoi-dev/omoi/internal/checkpoint"
)

// points are the checkpoints of an attempt.
type points struct {
	packs  map[int][]byte
	sealed map[int]checkpoint.Checkpoint
	asked  int // requests
}

// checkpoint takes and gives checkpoints of attempt 1 as the real API does.
func (s *Server) checkpoint(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.points.asked++
	fault := Fault{}
	if s.CheckpointFaultOf != nil {
		fault = s.CheckpointFaultOf(s.points.asked)
	}
	_, rest, _ := strings.Cut(r.URL.Path, "/checkpoints/")
	name, isPack := strings.CutSuffix(rest, "/pack")
	n, _ := strconv.Atoi(name)
	switch {
	case fault.CutBefore:
		panic(http.ErrAbortHandler)
	case fault.Status != 0:
		problem(w, fault)
		return
	case r.Method == http.MethodGet:
		id, _ := checkpoint.ParseID(path.Base(name))
		pack := s.points.packs[id.Number]
		if fault.CutAfter {
			_, _ = w.Write(pack[:len(pack)/2])
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		_, _ = w.Write(pack)
		return
	case isPack:
		s.chunk(w, n, r, body, fault)
		return
	}
	s.seal(w, n, body, fault)
}

func problem(w http.ResponseWriter, fault Fault) {
	if !fault.Foreign {
		w.Header().Set("Content-Type", "application/problem+json")
	}
	answer(w, fault.Status, map[string]any{"code": "gone", "detail": "a fault"})
}

func (s *Server) chunk(w http.ResponseWriter, n int, r *http.Request, body []byte, fault Fault) {
	offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
	stored := offset == len(s.points.packs[n])
	if stored {
		s.points.packs[n] = append(s.points.packs[n], body...)
	}
	if fault.CutAfter {
		panic(http.ErrAbortHandler)
	}
	answer(w, http.StatusOK, checkpoint.Received{Stored: stored, Received: int64(len(s.points.packs[n]))})
}

func (s *Server) seal(w http.ResponseWriter, n int, body []byte, fault Fault) {
	c := checkpoint.Checkpoint{ID: checkpoint.ID{Attempt: 1, Number: n}.String(), Attempt: 1, Number: n}
	sum := sha256.Sum256(s.points.packs[n])
	if err := json.Unmarshal(body, &c.Sealed); err != nil || c.PackSHA256 != hex.EncodeToString(sum[:]) {
		answer(w, http.StatusConflict, map[string]any{"detail": "another pack"})
		return
	}
	s.points.sealed[n] = c
	if fault.CutAfter {
		panic(http.ErrAbortHandler)
	}
	answer(w, http.StatusOK, c)
}

// Checkpoints returns the sealed checkpoints by number.
func (s *Server) Checkpoints() map[int]checkpoint.Checkpoint {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.points.sealed)
}

// Segments returns the sealed checkpoints as an attempt that restores gets them: the newest segment first.
func (s *Server) Segments() [][]checkpoint.Checkpoint {
	all := slices.SortedFunc(maps.Values(s.Checkpoints()), func(a, b checkpoint.Checkpoint) int { return a.Number - b.Number })
	segments := checkpoint.Segments(all)
	slices.Reverse(segments)
	return segments
}

// ForgePack replaces the stored pack of a checkpoint, its commit and its sum.
func (s *Server) ForgePack(number int, commit string, pack []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, sum := s.points.sealed[number], sha256.Sum256(pack)
	c.Commit, c.PackBytes, c.PackSHA256 = commit, int64(len(pack)), hex.EncodeToString(sum[:])
	s.points.sealed[number], s.points.packs[number] = c, pack
}

// SpoilPack changes the stored pack of a checkpoint.
func (s *Server) SpoilPack(number int, spoil func(pack []byte) []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.points.packs[number] = spoil(s.points.packs[number])
}
