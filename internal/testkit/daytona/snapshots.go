package daytona

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"time"
)

// snapshotID is the same for one name in every emulator.
func snapshotID(name string) string {
	sum := sha256.Sum256([]byte(name))
	return "snapshot-" + hex.EncodeToString(sum[:8])
}

// snapshot is one by name or id, as its switches say.
func (s *Server) snapshot(key string) (snapshotBody, error) {
	for _, one := range s.opts.Snapshots {
		if key != one.Name && key != snapshotID(one.Name) {
			continue
		}
		meant := aim{snapshot: one.Name, withoutRequest: true}
		if missing, _ := s.faults.holds(MissingSnapshot, meant); missing {
			break
		}
		inactive, _ := s.faults.holds(InactiveSnapshot, meant)
		return s.describeSnapshot(one, inactive || one.Inactive && !s.isWoken(one.Name)), nil
	}
	return snapshotBody{}, refuse(http.StatusNotFound, "Snapshot %s not found", key)
}

func (s *Server) describeSnapshot(one Snapshot, inactive bool) snapshotBody {
	then := stamp(time.Unix(0, 0))
	out := snapshotBody{
		ID: snapshotID(one.Name), General: true, Name: one.Name, ImageName: one.Name, State: "active",
		CPU: or(one.CPU, 1), Mem: or(one.MemoryGiB, 1), Disk: or(one.DiskGiB, 3), CreatedAt: then, UpdatedAt: then,
		RegionIDs: one.Regions, SandboxClass: className,
	}
	if inactive {
		out.State = "inactive"
	}
	if out.RegionIDs == nil {
		out.RegionIDs = slices.Clone(s.opts.Regions)
	}
	return out
}

func (s *Server) getSnapshot(r *http.Request) (any, error) {
	return s.snapshot(r.PathValue("id"))
}

// activate takes the id, not the name, and switches the fault off.
func (s *Server) activate(r *http.Request) (any, error) {
	found, err := s.snapshot(r.PathValue("id"))
	switch {
	case err != nil:
		return nil, err
	case found.ID != r.PathValue("id"):
		return nil, refuse(http.StatusNotFound, "Snapshot %s not found", r.PathValue("id"))
	case found.State == "active":
		return nil, badRequest("Snapshot %s is already active", found.Name)
	}
	s.faults.drop(InactiveSnapshot, aim{snapshot: found.Name, withoutRequest: true})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.woken[found.Name] = true
	found.State = "active"
	return found, nil
}

func (s *Server) isWoken(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.woken[name]
}
