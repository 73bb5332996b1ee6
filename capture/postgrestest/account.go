package postgrestest

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// An account is whom the server runs as. The zero account is the current user.
// Postgres refuses to run as root ("root" execution of the PostgreSQL server is not permitted), so root needs another one.
type account struct {
	other    bool // not the current user
	uid, gid uint32
}

// serverAccount returns the current user, or for root: postgres, else nobody, else the number that nobody has everywhere.
func serverAccount() account {
	if os.Geteuid() != 0 {
		return account{uid: uint32(os.Geteuid()), gid: uint32(os.Getegid())}
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil && uid != 0 {
			return account{other: true, uid: uint32(uid), gid: uint32(gid)}
		}
	}
	return account{other: true, uid: 65534, gid: 65534}
}

// command prepares a program that runs as the account, in a session of its own, with nothing of our environment that could
// change what it does (PGDATA, LC_ALL, …).
func (a account) command(ctx context.Context, dir string, libs []string, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "TZ=UTC", "HOME=" + dir}
	if len(libs) > 0 {
		cmd.Env = append(cmd.Env, "LD_LIBRARY_PATH="+joinPath(libs))
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if a.other {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: a.uid, Gid: a.gid}
	}
	return cmd
}

// own gives a file or folder of ours to the account.
func (a account) own(path string) error {
	if !a.other {
		return nil
	}
	return os.Lchown(path, int(a.uid), int(a.gid))
}

// canReach says whether the account may enter the folder: every folder on the way needs its x bit.
// t.TempDir and root's home fail this for everybody but their owner.
func (a account) canReach(folder string) bool {
	folder, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return false
	}
	folder, err = filepath.Abs(folder)
	if err != nil {
		return false
	}
	for {
		info, err := os.Stat(folder)
		if err != nil || !info.IsDir() || !a.canEnter(info) {
			return false
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			return true
		}
		folder = parent
	}
}

func (a account) canEnter(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	switch mode := info.Mode().Perm(); {
	case st.Uid == a.uid:
		return mode&0o100 != 0
	case st.Gid == a.gid:
		return mode&0o010 != 0
	default:
		return mode&0o001 != 0
	}
}

// tempFolder makes a folder that the account owns and can reach, mode 0700. $TMPDIR comes first, then the usual places.
func (a account) tempFolder() (string, error) {
	var last error
	for _, root := range []string{os.TempDir(), "/tmp", "/var/tmp"} {
		if !a.canReach(root) {
			last = fmt.Errorf("uid %d can't reach %s", a.uid, root)
			continue
		}
		dir, err := os.MkdirTemp(root, "cdc-postgres-")
		if err != nil {
			last = err
			continue
		}
		if err := a.own(dir); err != nil {
			os.RemoveAll(dir)
			return "", fmt.Errorf("give %s to uid %d: %w", dir, a.uid, err)
		}
		return dir, nil
	}
	return "", fmt.Errorf("make a folder for the server: %w", last)
}
