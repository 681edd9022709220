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

// translate adds the failed action and a [task.Code] to err. An error with a code keeps its code; nil stays nil.
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

// codedCause returns the code of an error from the database or the connection.
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
	return task.Errorf(task.CodeInternal, "The database returned an error.")
}

// closed reports whether the connection or the whole pool was closed. If the server closes a connection during a
// response, pgx returns io.EOF, which is not a net.Error.
func closed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		strings.Contains(err.Error(), "conn closed") || strings.Contains(err.Error(), "closed pool")
}

// codedState returns the code of a SQLSTATE.
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
	// connection, conflict, lack of resources, shutdown, lock not available
	case ofClass(state, "08", "40", "53", "57", "55P03"):
		return task.Errorf(task.CodeUnavailable, "The database is busy or restarting. Next: repeat in a moment").WithKind(task.KindDatabase)
	}
	return task.Errorf(task.CodeInternal, "The database returned an error.")
}

// diskFull is the SQLSTATE of a write to a full disk.
const diskFull = "53100"

// sqlState returns the SQLSTATE of an error from the database server; empty for other errors.
func sqlState(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code
	}
	return ""
}

// ofClass reports whether a SQLSTATE begins with one of the classes.
func ofClass(state string, classes ...string) bool {
	return slices.ContainsFunc(classes, func(class string) bool { return strings.HasPrefix(state, class) })
}

// repeatable reports whether an immediate retry of the transaction can succeed.
func repeatable(err error) bool { return ofClass(sqlState(err), "40001", "40P01") }

// violates reports whether err is a violation of the named constraint.
func violates(err error, constraint string) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.ConstraintName == constraint
}
