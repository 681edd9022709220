package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// IDPath is the ID in the path of a request; see [API.resolve].
type IDPath struct {
	ID string `path:"id"`
}

// listOfIn requests a page of the items that belong to the object with an ID.
type listOfIn struct {
	IDPath
	client.PageRequest
}

// bodyIn is a request with a body only.
type bodyIn[T any] struct{ Body T }

// changeIn is a request with an ID in its path and a body.
type changeIn[T any] struct {
	IDPath
	Body T
}

// bodyOut is a response with a body only.
type bodyOut[T any] struct{ Body T }

// body returns the response for the result of a port.
func body[T any](content T, err error) (*bodyOut[T], error) { return &bodyOut[T]{content}, err }

// arrayOut is a response with a bare array.
type arrayOut[T any] struct {
	Body []T `nullable:"false"`
}

// array returns the response for a list that a port returns.
func array[T any](items []T, err error) (*arrayOut[T], error) { return &arrayOut[T]{items}, err }

// pageOut is one page of a list.
type pageOut[T any] = bodyOut[client.Page[T]]

// whole returns a page of a list that a port returns completely. Its cursor is the unique key of the last item of the
// previous page. [task.CodeGone] if that item was removed.
func whole[T any](in client.PageRequest, key func(T) string, items []T, err error) (*pageOut[T], error) {
	if err != nil {
		return nil, err
	}
	if in.Cursor != "" {
		if !cursorForm.MatchString(in.Cursor) {
			return nil, task.InvalidCursor("cursor")
		}
		last := slices.IndexFunc(items, func(item T) bool { return cursorOf(key(item)) == in.Cursor })
		if last < 0 {
			return nil, task.Errorf(task.CodeGone, "Expired cursor: its item was removed. Next: repeat the request without a cursor.").
				WithKind(task.KindDataRemoved)
		}
		items = items[last+1:]
	}
	page := client.Page[T]{Items: items}
	if len(items) > in.Limit {
		page.Items, page.NextCursor = items[:in.Limit], new(cursorOf(key(items[in.Limit-1])))
	}
	return body(page, nil)
}

var cursorForm = regexp.MustCompile(`^[0-9a-f]{32}$`)

// cursorOf returns the cursor after the item of a key. A key may be longer than a cursor, or hold any characters.
func cursorOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:16])
}

// madeOut is a response with the location of the created object.
type madeOut[T any] struct {
	Status   int
	Location string `header:"Location"`
	Body     T
}

// handler handles the requests of a route.
type handler[I, O any] func(ctx context.Context, in *I) (*O, error)

// read returns the handler of a route that returns the object in its path.
func read[T any](get func(ctx context.Context, organizationID, id string) (T, error)) handler[IDPath, bodyOut[T]] {
	return func(ctx context.Context, in *IDPath) (*bodyOut[T], error) {
		return body(get(ctx, callerOf(ctx).organization, in.ID))
	}
}

// listed returns the handler of a list of an organization's objects.
func listed[Q, T any](
	list func(ctx context.Context, organizationID string, q Q) (client.Page[T], error),
) handler[Q, pageOut[T]] {
	return func(ctx context.Context, in *Q) (*pageOut[T], error) {
		return body(list(ctx, callerOf(ctx).organization, *in))
	}
}

// remove returns the handler of a route that removes the object in its path.
func remove(do func(ctx context.Context, organizationID, id string) error) handler[IDPath, struct{}] {
	return func(ctx context.Context, in *IDPath) (*struct{}, error) {
		return nil, do(ctx, callerOf(ctx).organization, in.ID)
	}
}

var idInPath = regexp.MustCompile(`/([a-z-]+)/{([a-z_]+)}`)

// idPart returns the part of a path before a parameter.
func idPart(path, param string) string {
	before, _, _ := strings.Cut(path, "/{"+param+"}")
	return before[strings.LastIndexByte(before, '/')+1:]
}
