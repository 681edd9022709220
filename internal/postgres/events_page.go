package postgres

import (
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres/db"
)

// pageChunk is how many rows are read at a time: rows are no longer than [ingest.LargeRow],
// so that what is read and left out again is no more than a page.
const pageChunk = ingest.MaxPage / ingest.LargeRow

// eventPage collects events until there are enough of them, or enough bytes of them.
type eventPage struct {
	limit int
	rows  []db.EventsAfterRow
	bytes int
	more  bool // some that are not on the page
}

// read asks for rows, each time beyond those that it has, until the page is full or there are no more.
func (p *eventPage) read(next func(most int) ([]db.EventsAfterRow, error)) error {
	for {
		most := min(pageChunk, p.limit+1-len(p.rows))
		rows, err := next(most)
		if err != nil {
			return err
		}
		if p.add(rows); p.more || len(rows) < most {
			return nil
		}
	}
}

// add takes the rows for which there is room; the first one always fits.
func (p *eventPage) add(rows []db.EventsAfterRow) {
	for _, row := range rows {
		full := p.bytes > 0 && p.bytes+len(row.EventData) > ingest.MaxPage
		if full || len(p.rows) == p.limit {
			p.more = true
			return
		}
		p.rows, p.bytes = append(p.rows, row), p.bytes+len(row.EventData)
	}
}

// last is the number of the page's last event; or what is given for a page that is empty.
func (p *eventPage) last(empty int64) int64 {
	if len(p.rows) == 0 {
		return empty
	}
	return p.rows[len(p.rows)-1].Sequence
}

func (p *eventPage) events(sandboxID string) []ingest.StoredEvent {
	return mapAll(p.rows, func(row db.EventsAfterRow) ingest.StoredEvent { return storedEvent(sandboxID, row) })
}
