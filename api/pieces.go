package api

import (
	"context"
	"io"
	"log/slog"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
)

// nextPiece returns the next piece of a stored text; an empty piece is its end.
type nextPiece func(ctx context.Context) ([]byte, error)

// sendPieces returns the response with a stored text. It reads the first piece before the response headers, while an
// error can still be sent. what names the text in the log.
func (a *API) sendPieces(ctx context.Context, contentType, what string, next nextPiece) (*huma.StreamResponse, error) {
	first, err := next(ctx)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) { //nolint:contextcheck // huma gives the body a context of its own
		ctx.SetHeader("Content-Type", contentType)
		a.writePieces(ctx.Context(), humagin.Unwrap(ctx).Writer, what, first, next)
	}}, nil
}

// writePieces sends a text piece by piece, so that a long text is never in memory. If a piece cannot be read, it breaks
// the connection, so that the reader does not take a part for the whole.
func (a *API) writePieces(ctx context.Context, out io.Writer, what string, piece []byte, next nextPiece) {
	for len(piece) > 0 {
		if _, err := out.Write(piece); err != nil {
			return // the reader has disconnected
		}
		var err error
		limited, cancel := a.limited(ctx)
		piece, err = next(limited)
		cancel()
		if err != nil {
			a.log.WarnContext(ctx, "send stored text failed", slog.String("text", what), slog.Any("error", err))
			if sent, ok := out.(http.Flusher); ok {
				sent.Flush() // the reader sees that the API answers
			}
			panic(http.ErrAbortHandler)
		}
	}
}
