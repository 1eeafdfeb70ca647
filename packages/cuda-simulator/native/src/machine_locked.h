// The lock on a machine's tables, for the files that implement Machine.
#pragma once
#include "machine.h"

namespace simulator {

class Machine::Locked {
 public:
  explicit Locked(Machine& machine) : machine_(machine), thread_(machine.mutex_) {
    lockByte(machine.file_, kTablesByte);
    bool died = machine.state_->lockHolder != 0;  // in the middle of a change
    machine.state_->lockHolder = machine.slot_ + 1;
    if (!died) return;
    machine.recount();
    machine.buryDead();
    machine.recount();
  }
  ~Locked() {
    machine_.state_->lockHolder = 0;
    unlockByte(machine_.file_, kTablesByte);
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  Machine& machine_;
  std::lock_guard<std::mutex> thread_;
};

}  // namespace simulator
