// The barrier across all blocks of a cooperative launch; one OS thread per block waits in it.
#pragma once
#include <pthread.h>
#include <stdint.h>

class GridBarrier {
 public:
  explicit GridBarrier(uint64_t blocks) : blocks_(blocks) {
    pthread_mutex_init(&mutex_, nullptr);
    pthread_cond_init(&released_, nullptr);
  }
  ~GridBarrier() {
    pthread_cond_destroy(&released_);
    pthread_mutex_destroy(&mutex_);
  }

  // False if the barrier can never complete, because a block failed or returned without reaching it.
  bool wait() {
    pthread_mutex_lock(&mutex_);
    uint64_t generation = generation_;
    if (!left_ && ++waiting_ == blocks_) {
      waiting_ = 0;
      generation_++;
      pthread_cond_broadcast(&released_);
    }
    while (generation == generation_ && !left_) pthread_cond_wait(&released_, &mutex_);
    bool completed = generation != generation_;
    pthread_mutex_unlock(&mutex_);
    return completed;
  }

  // A block has ended: whoever waits now, or comes to wait, waits for ever.
  void leave() {
    pthread_mutex_lock(&mutex_);
    left_++;
    pthread_cond_broadcast(&released_);
    pthread_mutex_unlock(&mutex_);
  }

 private:
  pthread_mutex_t mutex_;
  pthread_cond_t released_;
  uint64_t blocks_, waiting_ = 0, generation_ = 0, left_ = 0;
};
