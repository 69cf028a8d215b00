from bloomery._redis import RedisSet as RedisSet

__all__ = ["RedisSet"]
