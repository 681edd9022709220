package api

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/omoi-dev/omoi/api/client"
)

// Limits of the lists in the form of OmoiOS.
const (
	pageRows   = 100    // of one query
	mostLegacy = 10_000 // elements that a list with a total reads
)

// legacyList is a list in the form of OmoiOS. It is sent page by page, since a description may have 64 KiB.
type legacyList[T any] struct {
	head string // what precedes the elements: [, or the beginning of an object
	// tail returns what follows them. total is the number of elements that keep selects.
	tail          func(total int) string
	limit, offset int
	most          int // elements to read
	keep          func(T) bool
	form          func(T) any
	read          func(context.Context, client.PageRequest) (client.Page[T], error)

	at                client.PageRequest
	seen, total, sent int
	ended             bool
}

// send returns the response with the list. what names the list in the log.
func (l *legacyList[T]) send(ctx context.Context, a *API, what string) (*huma.StreamResponse, error) {
	return a.sendPieces(ctx, "application/json", what, l.next)
}

// next returns the next piece of the response.
func (l *legacyList[T]) next(ctx context.Context) (piece []byte, err error) {
	if l.seen == 0 && !l.ended {
		piece = []byte(l.head)
	}
	for !l.ended {
		l.at.Limit = min(pageRows, l.most-l.seen)
		page, err := l.read(ctx, l.at)
		if err != nil {
			return nil, err
		}
		if piece, err = l.add(piece, page.Items); err != nil {
			return nil, err
		}
		if l.ended = page.NextCursor == nil || l.seen == l.most; l.ended {
			return append(piece, l.tail(l.total)...), nil
		}
		if l.at.Cursor = *page.NextCursor; len(piece) > 0 {
			break
		}
	}
	return piece, nil
}

// add appends the elements of a page that belong to the response.
func (l *legacyList[T]) add(piece []byte, items []T) ([]byte, error) {
	l.seen += len(items)
	for _, item := range items {
		if !l.keep(item) {
			continue
		}
		if l.total++; l.total <= l.offset || l.sent == l.limit {
			continue
		}
		text, err := json.Marshal(l.form(item))
		if err != nil {
			return nil, err
		}
		if l.sent++; l.sent > 1 {
			piece = append(piece, ',')
		}
		piece = append(piece, text...)
	}
	return piece, nil
}

// objectWith returns the parts of an object with a list and its total.
func objectWith(list string) (head string, tail func(total int) string) {
	return `{"` + list + `":[`, func(total int) string { return `],"total":` + strconv.Itoa(total) + "}" }
}
