package api

import "time"

// hall is the part of a room where bodies of one kind are counted. Its room's lock guards it.
type hall struct {
	bytes          int64
	taken          int64
	of             map[string]int64 // by sandbox
	oldest, newest *part            // of the bodies that are still coming, by how long their senders have had
}

const (
	smallPart   = 4 // of a room is for small bodies, besides
	sandboxPart = 4 // of a hall is what one sandbox may have
)

func (h *hall) add(who string, n int64) {
	h.taken += n
	if who == "" {
		return
	}
	if h.of == nil {
		h.of = map[string]int64{}
	}
	if h.of[who] += n; h.of[who] == 0 {
		delete(h.of, who)
	}
}

// full reports whether a body is too much. One alone never is.
func (h *hall) full(p *part) bool {
	share := h.of[p.who]
	return h.crowded(p) || share > h.bytes/sandboxPart && share > p.read
}

// crowded reports whether that is so for everybody, not for one sandbox only.
func (h *hall) crowded(p *part) bool { return h.taken > h.bytes && h.taken > p.read }

func (h *hall) enter(p *part) {
	p.in = h
	h.add(p.who, p.read)
	h.await(p)
}

func (h *hall) remove(p *part) {
	h.add(p.who, -p.read)
	if p.coming {
		h.forget(p)
	}
	p.in = nil
}

// clear ends bodies whose senders have kept all waiting for longer than haste, the slowest first,
// until there is room for p. What is too much of one sandbox is at that one's cost.
func (h *hall) clear(p *part, haste time.Duration) {
	for late := h.oldest; late != nil && h.full(p) && time.Since(late.since) >= haste; {
		next := late.newer
		if late != p && (late.who == p.who || h.crowded(p)) {
			h.end(late)
		}
		late = next
	}
}

// end gives a body's place away. Its sender is told that the rest did not come in time.
func (h *hall) end(late *part) {
	if late.conn.SetReadDeadline(time.Unix(1, 0)) != nil { // then nothing else can wake who waits for it
		h.forget(late)
		return
	}
	h.remove(late)
	late.ended = true
}

// await puts a body behind the others that are still coming.
func (h *hall) await(p *part) {
	p.since, p.coming = time.Now(), true
	p.older, p.newer = h.newest, nil
	if h.newest != nil {
		h.newest.newer = p
	} else {
		h.oldest = p
	}
	h.newest = p
}

// forget takes it out from among them.
func (h *hall) forget(p *part) {
	if p.older != nil {
		p.older.newer = p.newer
	} else {
		h.oldest = p.newer
	}
	if p.newer != nil {
		p.newer.older = p.older
	} else {
		h.newest = p.older
	}
	p.older, p.newer, p.coming = nil, nil, false
}
