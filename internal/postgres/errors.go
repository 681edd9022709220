package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/omoi-dev/omoi/internal/task"
)

// translate gives err a code of the domain and says what was being done. An error that
// has a code already keeps it; nil stays nil.
func translate(doing string, err error) error {
	if err == nil {
		return nil
	}
	var coded *task.Error
	if errors.As(err, &coded) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return fmt.Errorf("%s: %w", doing, codedCause(err).WithCause(err))
}

// codedCause finds the code of an error that comes from the database or the way to it.
func codedCause(err error) *task.Error {
	var connect *pgconn.ConnectError
	var network net.Error
	state := sqlState(err)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return task.Errorf(task.CodeNotFound, "Not found.")
	case state != "":
		return codedState(state)
	case errors.As(err, &connect), errors.As(err, &network), pgconn.SafeToRetry(err), closed(err):
		return task.Errorf(task.CodeUnavailable, "The database does not answer. Next: repeat in a moment").WithKind(task.KindDatabase)
	}
	return task.Errorf(task.CodeInternal, "The database answered with an error.")
}

// closed reports whether a connection was closed under the caller, or all of them since the
// process ends. Of one that ends in mid-answer pgx tells the end of file that it read, which
// is no error of the network.
func closed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		strings.Contains(err.Error(), "conn closed") || strings.Contains(err.Error(), "closed pool")
}

// codedState maps the SQLSTATE of a refusal.
func codedState(state string) *task.Error {
	switch {
	case state == "23505":
		return task.Errorf(task.CodeConflict, "The object already exists.")
	case state == "23503":
		return task.Errorf(task.CodeNotFound, "The object refers to an object that does not exist.")
	case ofClass(state, "22", "23"):
		return task.Errorf(task.CodeInvalid, "The database rejected a value.")
	case state == diskFull:
		return task.Errorf(task.CodeUnavailable, "The disk of the database is full: nothing can be stored. Next: an operator frees disk space there; what was not acknowledged is sent again.").WithKind(task.KindDiskFull)
	case ofClass(state, "08", "40", "53", "57", "55P03"): // connection, conflict, lack of resources, shutdown, a lock that was not to be had
		return task.Errorf(task.CodeUnavailable, "The database is busy or restarting. Next: repeat in a moment").WithKind(task.KindDatabase)
	}
	return task.Errorf(task.CodeInternal, "The database answered with an error.")
}

// diskFull is the SQLSTATE of a write that found no room.
const diskFull = "53100"

// sqlState returns the SQLSTATE with which the database refused; empty: it did not.
func sqlState(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code
	}
	return ""
}

// ofClass reports whether a SQLSTATE begins like one of these.
func ofClass(state string, classes ...string) bool {
	return slices.ContainsFunc(classes, func(class string) bool { return strings.HasPrefix(state, class) })
}

// repeatable reports whether the same transaction may succeed when it is run again at once.
func repeatable(err error) bool { return ofClass(sqlState(err), "40001", "40P01") }

// violates reports whether err is the refusal of the named constraint.
func violates(err error, constraint string) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.ConstraintName == constraint
}
