package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// dirPrefix begins the names of the folders in which runs keep the state of their trials. ownerFile lies in
// each, locked for as long as its run lives: the kernel drops the lock with the process, however that ends.
const (
	dirPrefix = "sixthcopy-"
	ownerFile = "owner"
)

// trialDir makes a folder for the state of trials in parent, "" being the usual one for temporary files,
// after it has removed those of runs that were killed. leave removes the folder.
func trialDir(parent string) (dir string, leave func() error, err error) {
	if parent == "" {
		parent = os.TempDir()
	}
	if err := os.MkdirAll(parent, 0o777|os.ModeSticky); err != nil { // an empty image has none
		return "", nil, fmt.Errorf("folder for temporary files: %w", err)
	}
	if err := sweepDirs(parent); err != nil {
		return "", nil, err
	}
	dir, err = os.MkdirTemp(parent, dirPrefix)
	if err != nil {
		return "", nil, fmt.Errorf("folder for trials: %w", err)
	}
	// The file gets its name when it is locked, so that nobody can take the folder for an orphan.
	owner, err := os.Create(filepath.Join(dir, "."+ownerFile))
	if err == nil {
		err = unix.Flock(int(owner.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err == nil {
		err = os.Rename(owner.Name(), filepath.Join(dir, ownerFile))
	}
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("lock of the folder for trials: %w", err), os.RemoveAll(dir))
	}
	return dir, func() error { return errors.Join(os.RemoveAll(dir), owner.Close()) }, nil
}

// sweepDirs removes the folders of runs that are no more. One that cannot be removed, another user's say,
// is left alone.
func sweepDirs(parent string) error {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return fmt.Errorf("folder for temporary files: %w", err)
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), dirPrefix) {
			continue
		}
		dir := filepath.Join(parent, e.Name())
		owner, err := os.Open(filepath.Join(dir, ownerFile))
		if err != nil {
			continue // it is being made, or is not ours
		}
		if unix.Flock(int(owner.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			_ = os.RemoveAll(dir)
		}
		_ = owner.Close() // it was only read
	}
	return nil
}

// fastDir is a folder in memory where there is one, else the usual one for temporary files.
func fastDir() string {
	const shm = "/dev/shm"
	if dir, err := os.MkdirTemp(shm, dirPrefix+"probe-"); err == nil {
		_ = os.Remove(dir)
		return shm
	}
	return ""
}
